import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { createGroup, createNote, createUser, follow, like, newName, postIn } from "./test_data.js";
import { interceptSocket, screens, visitorsForTests } from "./visitor.js";

const openVisitor = visitorsForTests();

/** A link in the navigation. */
const navigationLink = ({ page }, name) => page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name });

/** The button of a profile's list, such as `Followers`, with that count. */
const profileCount = ({ page }, list, count) =>
  page.getByRole("group", { name: "Lists" }).getByRole("button", { name: list }).locator(`[data-count="${count}"]`);

/** The member count on a group's page. */
const memberCount = ({ page }) => page.locator("dl > div", { hasText: "Members" }).locator("[data-count]");

/** A count on a group's page, such as `Featured`, if it is `count`. */
const groupCount = ({ page }, name, count) =>
  page.locator("dl > div", { hasText: name }).locator(`[data-count="${count}"]`);

/** The member count, if it is `count`. */
const memberCountOf = (visitor, count) => memberCount(visitor).and(visitor.page.locator(`[data-count="${count}"]`));

/** Call it before the page opens. The returned function holds mutations until the function that it returns is called. */
async function holdMutations(visitor) {
  let held;
  await interceptSocket(visitor, async ({ payload }, { forward }) => {
    if (payload?.query?.startsWith("mutation")) await held;
    forward();
  });
  return () => {
    let release;
    held = new Promise((resolve) => (release = resolve));
    return release;
  };
}

/** Answers the first `Viewer` query without a user, and only after the page has received inbox counts. */
async function delayFirstViewer({ page }) {
  const socket = page.waitForEvent("websocket");
  let isFirst = true;
  await page.route("**/graphql", async (route) => {
    if (!isFirst || !route.request().postDataJSON().query.includes("query Viewer")) return route.fallback();
    isFirst = false;
    await inboxCounts;
    await route.fulfill({ json: { data: { viewer: { __typename: "Viewer", user: null, inbox: null } } } });
  });
  const inboxCounts = socket.then((socket) =>
    socket.waitForEvent("framereceived", ({ payload }) => payload.includes("inboxCountsChanged")),
  );
}

/** Clicks a button and waits for the optimistic result in `locators` before the server gets the mutation. */
async function clickOptimistically(hold, button, locators) {
  const release = hold();
  await button.click();
  for (const locator of locators) await locator.waitFor();
  release();
}

for (const [name, screen] of Object.entries(screens)) {
  describe(`on a ${name}`, () => {
    test("following and unfollowing show at once and update the followed user's open profile", async () => {
      const [bea, user] = [newName("bea"), newName("ann")];
      const path = `/user/${await createUser(bea)}`;
      const [followed, follower] = [await openVisitor({ screen, user: bea }), await openVisitor({ screen, user })];
      await followed.goTo(path);
      const hold = await holdMutations(follower);
      await follower.goTo(path);
      const button = (label) => follower.page.getByRole("button", { name: `${label} ${bea}`, exact: true });
      const followers = (count) => profileCount(follower, "Followers", count);
      assert.equal(await followed.page.getByRole("button", { name: /^Follow / }).count(), 0);

      await clickOptimistically(hold, button("Follow"), [button("Following"), followers(1)]);
      await profileCount(followed, "Followers", 1).waitFor();
      await clickOptimistically(hold, button("Following"), [button("Follow"), followers(0)]);
      await profileCount(followed, "Followers", 0).waitFor();
    });

    test("the inbox badge rises as others act, falls as the inbox is read, and stays empty after a reload", async () => {
      const user = newName("mia");
      const note = await createNote(user);
      const visitor = await openVisitor({ screen, user });
      await visitor.goTo("/");
      const badge = (count) => navigationLink(visitor, /Inbox/).getByText(`${count} unread`);

      const fan = newName("fan");
      await follow(fan, note.authorId);
      await badge(1).waitFor();
      await like(fan, note.id);
      await badge(2).waitFor();

      await navigationLink(visitor, /Inbox/).click();
      await visitor.page.getByText(`${fan} follows you`).waitFor();
      await visitor.page.getByText(`${fan} liked your note ${note.title}`).waitFor();
      // Opening the tab of one kind marks its entries as read.
      await visitor.page.getByRole("group", { name: "What to show" }).getByRole("button", { name: /^Likes/ }).click();
      await badge(1).waitFor();
      const marked = visitor.page.waitForResponse((response) => response.request().postData()?.includes("markInboxRead"));
      await visitor.page.getByRole("button", { name: "Mark all read" }).click();
      await navigationLink(visitor, /unread/).waitFor({ state: "detached" });
      await marked; // a reload would end a request that is on its way

      await visitor.page.reload();
      await visitor.page.getByText(`${fan} follows you`).waitFor();
      await visitor.page.getByRole("button", { name: "Mark all read", disabled: true }).waitFor();
      assert.equal(await navigationLink(visitor, /unread/).count(), 0);
    });

    test("equal events are one inbox entry, which names its users, and new entries are offered", async () => {
      const user = newName("mia");
      const [note, other] = [await createNote(user), await createNote(user)];
      const visitor = await openVisitor({ screen, user });
      await visitor.goTo("/inbox");
      await visitor.page.getByRole("heading", { name: "No entries yet." }).waitFor();

      const [ann, bo, cy] = [newName("ann"), newName("bo"), newName("cy")];
      for (const fan of [ann, bo]) await like(fan, note.id);
      await navigationLink(visitor, /Inbox/).getByText("2 unread").waitFor();
      await visitor.page.getByRole("button", { name: "Show 1 new", exact: true }).click();
      const entry = visitor.page.getByRole("listitem").filter({ hasText: note.title });
      await entry.getByText(`${bo} and ${ann} liked your note`).waitFor();

      await like(cy, note.id);
      await follow(cy, note.authorId);
      await like(cy, other.id);
      await visitor.page.getByRole("button", { name: "Show 3 new", exact: true }).click();
      await entry.getByText(`${cy} and 2 others liked your note`).waitFor();
      await visitor.page.getByText(`${cy} follows you`).waitFor();
      assert.equal(await visitor.page.getByRole("main").getByRole("listitem").count(), 3);
      await visitor.page.getByRole("button", { name: "Mark all read" }).click();
      await visitor.page.getByText("Unread:").first().waitFor({ state: "detached" });
    });

    test("the owner renames a group, features and removes notes, removes a member, and deletes the group", async () => {
      const [owner, member] = [newName("owner"), newName("member")];
      const group = await createGroup(owner);
      const note = await postIn(group.id, member);
      const visitor = await openVisitor({ screen, user: owner });
      const other = await openVisitor({ user: member });
      for (const one of [visitor, other]) await one.goTo(`/group/${group.id}`);
      const { page } = visitor;
      const button = (name) => page.getByRole("button", { name, exact: true });
      const confirm = (name) => page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
      await other.card(note.id).waitFor();
      assert.equal(await other.page.getByRole("button", { name: /^(Edit|Delete|Feature|Take)/ }).count(), 0);

      await button("Edit this group").click();
      const name = newName("Renamed");
      await page.getByRole("dialog").getByLabel("Name").fill(name);
      await page.getByRole("dialog").getByLabel("What is it about?").fill("New words.");
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      for (const one of [visitor, other]) {
        await one.page.getByRole("heading", { level: 2, name }).waitFor();
        await one.page.getByRole("paragraph").filter({ hasText: "New words." }).waitFor();
      }

      await button("Feature this note").click();
      await visitor.card(note.id).getByText("Featured").waitFor();
      await groupCount(other, "Featured", 1).waitFor();
      await button("Take this note out of the group").click();
      await confirm("Take it out");
      await visitor.card(note.id).waitFor({ state: "detached" });
      await groupCount(other, "Notes", 0).waitFor();

      await button("Members").click();
      await button(`Remove ${member} from the group`).click();
      await confirm("Remove");
      await page.getByRole("link", { name: member }).waitFor({ state: "detached" });
      await groupCount(other, "Members", 0).waitFor();

      await button("Delete this group").click();
      await confirm("Delete");
      await page.getByRole("heading", { level: 1, name: "Groups" }).waitFor();
      await other.goTo(`/group/${group.id}`);
      await other.page.getByText("There is nothing at this address.").waitFor();
    });

    test("the first like makes a profile without a reload, and likes are listed until they are undone", async () => {
      const user = newName("new");
      const visitor = await openVisitor({ screen, user });
      await visitor.goTo("/user/me");
      await visitor.page.getByText("You are new here.").waitFor();

      await navigationLink(visitor, /Hot/).click();
      await visitor.page.getByRole("button", { name: "All", exact: true }).click();
      const [id] = await visitor.notes();
      const before = await visitor.count(id, "Like");
      await visitor.button(id, "Like").click();
      await visitor.waitForCount(id, "Like", before + 1);
      await navigationLink(visitor, /Profile/).click();
      await visitor.page.getByRole("heading", { level: 2, name: user }).waitFor();
      await profileCount(visitor, "Notes", 0).waitFor();

      const openLikes = () => visitor.page.getByRole("main").getByRole("link", { name: "My likes" }).click();
      await openLikes();
      await visitor.button(id, "Like").and(visitor.page.locator('[aria-pressed="true"]')).click();
      await visitor.button(id, "Like").and(visitor.page.locator('[aria-pressed="false"]')).waitFor();
      assert.deepEqual(await visitor.notes(), [id], "it stays in the list, so that the user can undo");
      await navigationLink(visitor, /Profile/).click();
      await openLikes();
      await visitor.page.getByRole("heading", { name: "Nothing yet." }).waitFor();
    });
  });
}

test("a new user gets a profile even if an old answer without a user arrives last", async () => {
  const user = newName("late");
  await createUser(user);
  const visitor = await openVisitor({ user });
  await delayFirstViewer(visitor);
  await visitor.goTo("/user/me");
  await visitor.page.getByRole("heading", { level: 2, name: user }).waitFor();
});

test("joining and leaving a group show at once and update another user's page", async () => {
  const group = await createGroup(newName("owner"));
  const [one, other] = [await openVisitor({ user: newName("one") }), await openVisitor()];
  const hold = await holdMutations(one);
  await one.goTo(`/group/${group.id}`);
  await other.goTo(`/group/${group.id}`);
  const count = Number(await memberCount(other).getAttribute("data-count"));
  const button = (label) => one.page.getByRole("button", { name: `${label} ${group.name}`, exact: true });

  await clickOptimistically(hold, button("Join"), [button("Joined"), memberCountOf(one, count + 1)]);
  await memberCountOf(other, count + 1).waitFor();
  await one.page.getByLabel("Title").waitFor();
  await clickOptimistically(hold, button("Joined"), [button("Join"), memberCountOf(one, count)]);
  await memberCountOf(other, count).waitFor();
  await one.page.getByLabel("Title").waitFor({ state: "detached" });
});

test("a user's new name shows on the page that another user has open", async () => {
  const user = newName("old");
  const path = `/user/${await createUser(user)}`;
  const [visitor, other] = [await openVisitor({ user }), await openVisitor()];
  for (const one of [visitor, other]) await one.goTo(path);
  await visitor.page.getByRole("button", { name: "Edit", exact: true }).click();
  const name = newName("New name");
  await visitor.page.getByRole("dialog").getByLabel("Name").fill(name);
  await visitor.page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  for (const one of [visitor, other]) await one.page.getByRole("heading", { level: 2, name }).waitFor();
  assert.equal(await other.page.getByRole("button", { name: "Edit", exact: true }).count(), 0);
});

test("a user downloads what is held of them, and deletes their account with everything in it", async () => {
  const user = newName("leaving");
  const note = await createNote(user);
  const visitor = await openVisitor({ user });
  const { page } = visitor;
  await visitor.goTo(`/user/${note.authorId}`);
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download my data" }).click();
  const lines = readFileSync(await (await download).path(), "utf8").trim().split("\n");
  assert.ok(lines.map((line) => JSON.parse(line)).length >= 2, "the user and the note");
  assert.ok(lines.some((line) => line.includes(note.title)));

  await page.getByRole("button", { name: "Delete my account" }).click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await page.waitForURL("/");
  await visitor.goTo("/user/me");
  await page.getByText("You are new here.").waitFor();
  await visitor.goTo(`/note/${note.id}`);
  await page.getByText("There is no such note.").waitFor();
});

test("an edited note shows its new text, also on the page that another user has open", async () => {
  const user = newName("editor");
  const [author, reader] = [await openVisitor({ user }), await openVisitor()];
  const { id, title } = await createNote(user);
  for (const visitor of [author, reader]) {
    await visitor.goTo(`/note/${id}`);
    await visitor.page.getByRole("heading", { name: title }).waitFor();
  }
  await author.page.getByRole("button", { name: "Edit this note" }).click();
  const form = author.page.getByRole("form", { name: "Edit the note" });
  assert.equal(await form.getByRole("button", { name: "Save" }).isDisabled(), true, "nothing was changed");
  const edited = newName("Edited");
  await form.getByLabel("Title").fill(edited);
  await form.getByRole("button", { name: "Save" }).click();
  for (const { page } of [author, reader]) {
    await page.getByRole("heading", { name: edited }).waitFor();
    await page.getByText("· edited").waitFor();
  }
  assert.equal(await reader.page.getByRole("button", { name: "Edit this note" }).count(), 0);
});

test("a new note appears at the top of the feed and on the profile, and can be deleted", async () => {
  const user = newName("writer");
  const visitor = await openVisitor({ user });
  const { page } = visitor;
  await visitor.goTo("/");
  const before = await visitor.notes();

  const title = newName("Today");
  await page.getByRole("button", { name: "What is on your mind?" }).click();
  await page.getByLabel("Title").fill(title);
  await page.getByLabel("Text").fill("It rains, and nobody minds.");
  await page.getByRole("button", { name: "Post", exact: true }).click();
  const note = page.getByRole("article", { name: title });
  await note.waitFor();
  const [id, ...others] = await visitor.notes();
  assert.equal(await note.getAttribute("data-note"), id, "it is the first");
  assert.deepEqual(others.slice(0, before.length), before);

  await navigationLink(visitor, /Profile/).click();
  await profileCount(visitor, "Notes", 1).waitFor();
  await note.getByRole("link", { name: title }).click();
  await page.getByRole("button", { name: "Delete this note" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await visitor.notes();
  await note.waitFor({ state: "detached" });
  await navigationLink(visitor, /Profile/).click();
  await page.getByRole("heading", { name: "No notes yet." }).waitFor();
  await profileCount(visitor, "Notes", 0).waitFor();
});
