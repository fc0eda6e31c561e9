import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { comment, commentsOf, createNote, newName } from "./test_data.js";
import { NoteComments } from "./note_comments.js";
import { screens, visitorsForTests } from "./visitor.js";

const openVisitor = visitorsForTests();

/** Opens the page of a note for two users. */
async function openForTwoUsers(noteId, screen) {
  const one = await openVisitor({ screen, user: newName("one") });
  const other = await openVisitor({ screen, user: newName("other") });
  return [await NoteComments.open(one, noteId), await NoteComments.open(other, noteId)];
}

for (const [name, screen] of Object.entries(screens)) {
  describe(`on a ${name}`, () => {
    test("a new comment and its answer are counted and appear on another user's open page", async () => {
      const { id } = await createNote(newName("author"));
      const [one, other] = await openForTwoUsers(id, screen);

      await one.post("Who was there?");
      await one.comment("Who was there?").waitFor();
      await one.waitForCount(1);
      assert.equal(await one.composer.inputValue(), "");

      await other.waitForCount(1);
      await other.comment("Who was there?").waitFor();
      await other.reply("Who was there?", "I was.");
      await other.comment("I was.").waitFor();

      await one.waitForCount(2);
      await one.comment("Who was there?").getByRole("button", { name: "Show 1 reply" }).click();
      await one.comment("I was.").waitFor();
      for (const { page } of [one, other]) assert.equal(await page.locator("article[data-comment]").count(), 2);

      // The replies are open on both pages now.
      await one.reply("I was.", "Me, too.");
      for (const comments of [one, other]) {
        await comments.comment("Me, too.").waitFor();
        await comments.waitForCount(3);
      }
    });

    test("an edited comment shows its new text on another user's open page, where an open form stays open", async () => {
      const { id } = await createNote(newName("author"));
      const [one, other] = await openForTwoUsers(id, screen);
      await one.post("Thrusday.");
      await other.comment("Thrusday.").getByRole("button", { name: "Reply", exact: true }).click();
      await other.page.getByLabel(/^Reply to/).fill("Do you mean");

      await one.comment("Thrusday.").getByRole("button", { name: "Edit this comment" }).click();
      const form = one.page.getByRole("form", { name: "Edit the comment" });
      assert.equal(await form.getByRole("button", { name: "Save" }).isDisabled(), true, "nothing was changed");
      await form.getByLabel("Text").fill("Thursday.");
      await form.getByRole("button", { name: "Save" }).click();
      for (const comments of [one, other]) {
        await comments.comment("Thursday.").getByText("edited", { exact: true }).waitFor();
        await comments.comment("Thrusday.").waitFor({ state: "detached" });
      }
      assert.equal(await other.page.getByLabel(/^Reply to/).inputValue(), "Do you mean");
      assert.equal(await other.page.getByRole("button", { name: "Edit this comment" }).count(), 0);
    });

    test("a user deletes only their own comment, after a confirmation, and other open pages remove it", async () => {
      const { id } = await createNote(newName("author"));
      await comment(newName("writer"), id, "It stays.");
      const [one, other] = await openForTwoUsers(id, screen);
      await one.post("It goes.");
      await one.waitForCount(2);
      await other.waitForCount(2);
      await other.comment("It goes.").waitFor();

      const deleteButton = (comments, text) =>
        comments.comment(text).getByRole("button", { name: "Delete this comment" });
      assert.equal(await deleteButton(one, "It stays.").count(), 0);
      assert.equal(await deleteButton(other, "It goes.").count(), 0);
      const confirmation = one.page.getByRole("dialog", { name: "Delete this comment?" });
      await deleteButton(one, "It goes.").click();
      await confirmation.getByRole("button", { name: "Cancel" }).click();
      await confirmation.waitFor({ state: "detached" });
      await one.comment("It goes.").waitFor();
      await deleteButton(one, "It goes.").click();
      await confirmation.getByRole("button", { name: "Delete" }).click();

      for (const comments of [one, other]) {
        await comments.comment("It goes.").waitFor({ state: "detached" });
        await comments.waitForCount(1);
        await comments.comment("It stays.").waitFor();
      }
    });
  });
}

test("a dialog of a new comment stays open when the answer comes after the event", async () => {
  const { id } = await createNote(newName("author"));
  const comments = await NoteComments.open(await openVisitor({ user: newName("one") }), id);
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await comments.page.route("**/graphql", async (route) => {
    if (!route.request().postData()?.includes("AddComment")) return route.continue();
    const response = await route.fetch();
    await released;
    await route.fulfill({ response });
  });
  await comments.post("First the event.");
  await comments.comment("First the event.").getByRole("button", { name: "Delete this comment" }).click();
  const dialog = comments.page.getByRole("dialog", { name: "Delete this comment?" });
  await dialog.waitFor();
  release();
  const composer = await comments.composer.elementHandle();
  await comments.page.waitForFunction((field) => field.value === "", composer);
  await dialog.getByRole("button", { name: "Delete" }).click();
  await comments.comment("First the event.").waitFor({ state: "detached" });
});

test("a comment whose response is lost keeps its text, and sending it again creates no second comment", async () => {
  const { id } = await createNote(newName("author"));
  const visitor = await openVisitor({ user: newName("one") });
  const comments = await NoteComments.open(visitor, id);
  const lostResponses = [];
  await visitor.page.route("**/graphql", async (route) => {
    if (lostResponses.length > 0 || !route.request().postData().includes("AddComment")) return route.fallback();
    lostResponses.push(await route.fetch());
    await route.abort();
  });

  await comments.post("Once is enough.");
  await visitor.page.getByText("The server does not answer.").waitFor();
  assert.match(await lostResponses[0].text(), /"comment":{/);
  assert.equal(await comments.composer.inputValue(), "Once is enough.");

  await visitor.page.getByRole("button", { name: "Comment", exact: true }).click();
  await comments.comment("Once is enough.").waitFor();
  await comments.waitForCount(1);
  // The comment may appear before the answer to the second attempt.
  await comments.composer.and(visitor.page.locator(":placeholder-shown")).waitFor();
  assert.equal(await visitor.page.locator("article[data-comment]").count(), 1);
  assert.deepEqual(await commentsOf(id), ["Once is enough."]);
  visitor.ignoreConnectionErrors();
});

test("liking and unliking a comment updates the count on another user's page", async () => {
  const { id } = await createNote(newName("author"));
  await comment(newName("writer"), id, "Likeable.");
  const [one, other] = await openForTwoUsers(id);

  await other.likeButton("Likeable.", 0).waitFor();
  await one.likeButton("Likeable.", 0).click();
  await one.likeButton("Likeable.", 1).waitFor();
  await other.likeButton("Likeable.", 1).waitFor();
  assert.equal(await one.likeButton("Likeable.", 1).getAttribute("aria-pressed"), "true");
  assert.equal(await other.likeButton("Likeable.", 1).getAttribute("aria-pressed"), "false");
  await one.likeButton("Likeable.", 1).click();
  await one.likeButton("Likeable.", 0).waitFor();
  await other.likeButton("Likeable.", 0).waitFor();
});

test("a deleted comment with replies stays as a placeholder with its replies, on all open pages", async () => {
  const { id } = await createNote(newName("author"));
  const [one, other] = await openForTwoUsers(id);
  await one.post("A question.");
  await one.waitForCount(1);
  await other.reply("A question.", "An answer.");
  await one.waitForCount(2);

  await one.comment("A question.").getByRole("button", { name: "Delete this comment" }).click();
  await one.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await one.comment("This comment was removed.").getByRole("button", { name: "Show 1 reply" }).click();
  await one.comment("An answer.").waitFor();
  await one.waitForCount(1);
  await other.waitForCount(1);
  await other.comment("This comment was removed.").waitFor();
  await other.comment("An answer.").waitFor();
  assert.deepEqual(await commentsOf(id), [""]);

  await other.comment("An answer.").getByRole("button", { name: "Delete this comment" }).click();
  await other.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  for (const comments of [one, other]) {
    await comments.comment("An answer.").waitFor({ state: "detached" });
    await comments.waitForCount(0);
  }
});

test("comments and replies can be written by keyboard: Ctrl+Enter sends, Escape cancels", async () => {
  const { id } = await createNote(newName("author"));
  const comments = await NoteComments.open(await openVisitor({ user: newName("one") }), id);
  const { keyboard } = comments.page;

  await comments.composer.focus();
  await keyboard.type("First line.");
  await keyboard.press("Enter");
  await keyboard.type("Second line.");
  await keyboard.press("Control+Enter");
  await comments.comment("Second line.").waitFor();
  await comments.waitForCount(1);

  await comments.comment("Second line.").getByRole("button", { name: "Reply", exact: true }).press("Enter");
  const reply = comments.page.getByLabel(/^Reply to/);
  await reply.and(comments.page.locator(":focus")).waitFor();
  await keyboard.press("Escape");
  await reply.waitFor({ state: "detached" });

  await comments.comment("Second line.").getByRole("button", { name: "Reply", exact: true }).press("Enter");
  await reply.and(comments.page.locator(":focus")).waitFor();
  await keyboard.type("To myself.");
  await keyboard.press("Control+Enter");
  await comments.comment("To myself.").waitFor();
  await comments.waitForCount(2);
});
