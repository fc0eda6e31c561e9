import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { follow, like, makeGroup, makeNote, makeUser, newName } from "./making.js";
import { openDoors, screens } from "./visitor.js";

const arrive = openDoors();

/** The way to a page, in the bar of all pages. */
const way = ({ page }, name) => page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name });

/** A list of a profile with its length, such as `Followers`. */
const listed = ({ page }, list, count) =>
  page.getByRole("group", { name: "Lists" }).getByRole("button", { name: list }).locator(`[data-count="${count}"]`);

/** The number of a group's members, on its page. */
const members = ({ page }) => page.locator("dl > div", { hasText: "Members" }).locator("[data-count]");

/** Where that number is `count`. */
const membersAre = (visitor, count) => members(visitor).and(visitor.page.locator(`[data-count="${count}"]`));

/** Lets no action through to the server until the function that it returns is called. */
async function holdActions({ page }) {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route("**/graphql", async (route) => {
    if (route.request().postDataJSON().query.startsWith("mutation")) await released;
    await route.fallback();
  });
  return release;
}

/** Answers the page's first question who one is with "nobody", and only after the page heard of one's inbox. */
async function answerLate({ page }) {
  const socket = page.waitForEvent("websocket");
  let isFirst = true;
  await page.route("**/graphql", async (route) => {
    if (!isFirst || !route.request().postDataJSON().query.includes("query Viewer")) return route.fallback();
    isFirst = false;
    await heard;
    await route.fulfill({ json: { data: { viewer: null } } });
  });
  const heard = socket.then((socket) =>
    socket.waitForEvent("framereceived", ({ payload }) => payload.includes("inboxCountsChanged")),
  );
}

/** Chooses a button, and sees what it did before the server knows of it. */
async function choose(visitor, button, seen) {
  const release = await holdActions(visitor);
  await button.click();
  for (const locator of seen) await locator.waitFor();
  release();
  await visitor.page.unroute("**/graphql");
}

for (const [name, screen] of Object.entries(screens)) {
  describe(`on a ${name}`, () => {
    test("following shows at once and moves the open profile of who is followed, and so does its end", async () => {
      const [bea, user] = [newName("bea"), newName("ann")];
      const path = `/user/${await makeUser(bea)}`;
      const [followed, follower] = [await arrive({ screen, user: bea }), await arrive({ screen, user })];
      await followed.goTo(path);
      await follower.goTo(path);
      const button = (label) => follower.page.getByRole("button", { name: `${label} ${bea}`, exact: true });
      assert.equal(await followed.page.getByRole("button", { name: /^Follow / }).count(), 0);

      await choose(follower, button("Follow"), [button("Following"), listed(follower, "Followers", 1)]);
      await listed(followed, "Followers", 1).waitFor();
      await choose(follower, button("Following"), [button("Follow"), listed(follower, "Followers", 0)]);
      await listed(followed, "Followers", 0).waitFor();
    });

    test("the inbox's badge rises while others act, is emptied by reading, and stays empty", async () => {
      const user = newName("mia");
      const note = await makeNote(user);
      const visitor = await arrive({ screen, user });
      await visitor.goTo("/");
      const badge = (count) => way(visitor, /Inbox/).getByText(`${count} unread`);

      const fan = newName("fan");
      await follow(fan, note.authorId);
      await badge(1).waitFor();
      await like(fan, note.id);
      await badge(2).waitFor();

      await way(visitor, /Inbox/).click();
      await visitor.page.getByText(`${fan} follows you`).waitFor();
      await visitor.page.getByText(`${fan} liked your note ${note.title}`).waitFor();
      // Who looks at one kind for a moment has read it.
      await visitor.page.getByRole("group", { name: "What to show" }).getByRole("button", { name: /^Likes/ }).click();
      await badge(1).waitFor();
      await visitor.page.getByRole("button", { name: "Mark all read" }).click();
      await way(visitor, /unread/).waitFor({ state: "detached" });

      await visitor.page.reload();
      await visitor.page.getByText(`${fan} follows you`).waitFor();
      await visitor.page.getByRole("button", { name: "Mark all read", disabled: true }).waitFor();
      assert.equal(await way(visitor, /unread/).count(), 0);
    });

    test("who is new gets a profile without a reload, and finds own likes until they are taken back", async () => {
      const user = newName("new");
      const visitor = await arrive({ screen, user });
      await visitor.goTo("/user/me");
      await visitor.page.getByRole("heading", { level: 2, name: user }).waitFor();
      await listed(visitor, "Notes", 0).waitFor();

      await way(visitor, /Hot/).click();
      await visitor.page.getByRole("button", { name: "All", exact: true }).click();
      const [id] = await visitor.notes();
      const before = await visitor.count(id, "Like");
      await visitor.button(id, "Like").click();
      await visitor.see(id, "Like", before + 1);
      await way(visitor, /Profile/).click();
      await visitor.page.getByRole("heading", { level: 2, name: user }).waitFor();

      const toLikes = () => visitor.page.getByRole("main").getByRole("link", { name: "My likes" }).click();
      await toLikes();
      await visitor.button(id, "Like").and(visitor.page.locator('[aria-pressed="true"]')).click();
      await visitor.button(id, "Like").and(visitor.page.locator('[aria-pressed="false"]')).waitFor();
      assert.deepEqual(await visitor.notes(), [id], "it stays in the list, so that one can undo");
      await way(visitor, /Profile/).click();
      await toLikes();
      await visitor.page.getByRole("heading", { name: "Nothing yet." }).waitFor();
    });
  });
}

test("who is new gets a profile also when the answer that knew nobody comes last", async () => {
  const user = newName("late");
  const visitor = await arrive({ user });
  await answerLate(visitor);
  await visitor.goTo("/user/me");
  await visitor.page.getByRole("heading", { level: 2, name: user }).waitFor();
});

test("joining a group shows at once and moves another's page, and so does leaving it", async () => {
  const group = await makeGroup(newName("owner"));
  const [one, other] = [await arrive({ user: newName("one") }), await arrive()];
  await one.goTo(`/group/${group.id}`);
  await other.goTo(`/group/${group.id}`);
  const count = Number(await members(other).getAttribute("data-count"));
  const button = (label) => one.page.getByRole("button", { name: `${label} ${group.name}`, exact: true });

  await choose(one, button("Join"), [button("Joined"), membersAre(one, count + 1)]);
  await membersAre(other, count + 1).waitFor();
  await one.page.getByLabel("Title").waitFor();
  await choose(one, button("Joined"), [button("Join"), membersAre(one, count)]);
  await membersAre(other, count).waitFor();
  await one.page.getByLabel("Title").waitFor({ state: "detached" });
});

test("a note is written above the feed, stands on top and on the profile, and is deleted", async () => {
  const user = newName("writer");
  const visitor = await arrive({ user });
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
  assert.equal(await note.getAttribute("data-note"), id, "it stands on top");
  assert.deepEqual(others.slice(0, before.length), before);

  await way(visitor, /Profile/).click();
  await listed(visitor, "Notes", 1).waitFor();
  await note.getByRole("link", { name: title }).click();
  await page.getByRole("button", { name: "Delete this note" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await visitor.notes();
  await note.waitFor({ state: "detached" });
  await way(visitor, /Profile/).click();
  await page.getByRole("heading", { name: "No notes yet." }).waitFor();
  await listed(visitor, "Notes", 0).waitFor();
});
