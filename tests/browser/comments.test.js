import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { comment, commentsOf, makeNote, newName } from "./making.js";
import { Talk } from "./talk.js";
import { openDoors, screens } from "./visitor.js";

const arrive = openDoors();

/** Two people with the same note before them. */
async function twoAt(noteId, screen) {
  const one = await arrive({ screen, user: newName("one") });
  const other = await arrive({ screen, user: newName("other") });
  return [await Talk.open(one, noteId), await Talk.open(other, noteId)];
}

for (const [name, screen] of Object.entries(screens)) {
  describe(`on a ${name}`, () => {
    test("a comment is counted and offered on another's open page, is read and answered there", async () => {
      const { id } = await makeNote(newName("author"));
      const [one, other] = await twoAt(id, screen);

      await one.say("Who was there?");
      await one.comment("Who was there?").waitFor();
      await one.seeCount(1);
      assert.equal(await one.composer.inputValue(), "");

      await other.seeCount(1);
      await other.page.getByRole("button", { name: "Show 1 new comment" }).click();
      await other.comment("Who was there?").waitFor();
      await other.answer("Who was there?", "I was.");
      await other.comment("I was.").waitFor();

      await one.seeCount(2);
      await one.comment("Who was there?").getByRole("button", { name: "Show 1 reply" }).click();
      await one.comment("I was.").waitFor();
      for (const { page } of [one, other]) {
        await page.getByRole("button", { name: /^Show \d+ new/ }).waitFor({ state: "detached" });
        assert.equal(await page.locator("article[data-comment]").count(), 2);
      }
    });

    test("one deletes one's own comment alone, after a question, and it is gone on another's page too", async () => {
      const { id } = await makeNote(newName("author"));
      await comment(newName("writer"), id, "It stays.");
      const [one, other] = await twoAt(id, screen);
      await one.say("It goes.");
      await one.seeCount(2);
      await other.seeCount(2);
      await other.page.getByRole("button", { name: "Show 1 new comment" }).click();
      await other.comment("It goes.").waitFor();

      const remove = (talk, text) => talk.comment(text).getByRole("button", { name: "Delete this comment" });
      assert.equal(await remove(one, "It stays.").count(), 0);
      assert.equal(await remove(other, "It goes.").count(), 0);
      const question = one.page.getByRole("dialog", { name: "Delete this comment?" });
      await remove(one, "It goes.").click();
      await question.getByRole("button", { name: "Cancel" }).click();
      await question.waitFor({ state: "detached" });
      await one.comment("It goes.").waitFor();
      await remove(one, "It goes.").click();
      await question.getByRole("button", { name: "Delete" }).click();

      for (const talk of [one, other]) {
        await talk.comment("It goes.").waitFor({ state: "detached" });
        await talk.seeCount(1);
        await talk.comment("It stays.").waitFor();
      }
    });
  });
}

test("a comment whose answer is lost keeps its text, and is no second one when it is sent again", async () => {
  const { id } = await makeNote(newName("author"));
  const visitor = await arrive({ user: newName("one") });
  const talk = await Talk.open(visitor, id);
  const lost = [];
  await visitor.page.route("**/graphql", async (route) => {
    if (lost.length > 0 || !route.request().postData().includes("AddComment")) return route.fallback();
    lost.push(await route.fetch());
    await route.abort();
  });

  await talk.say("Once is enough.");
  await visitor.page.getByText("The server does not answer.").waitFor();
  assert.match(await lost[0].text(), /"changed":true/);
  assert.equal(await talk.composer.inputValue(), "Once is enough.");

  await visitor.page.getByRole("button", { name: "Comment", exact: true }).click();
  await talk.comment("Once is enough.").waitFor();
  await talk.seeCount(1);
  assert.equal(await talk.composer.inputValue(), "");
  await visitor.page.getByRole("button", { name: /^Show \d+ new/ }).waitFor({ state: "detached" });
  assert.equal(await visitor.page.locator("article[data-comment]").count(), 1);
  assert.deepEqual(await commentsOf(id), ["Once is enough."]);
  visitor.forgiveConnections();
});

test("a like of a comment moves another's page, and is taken back the same way", async () => {
  const { id } = await makeNote(newName("author"));
  await comment(newName("writer"), id, "Likeable.");
  const [one, other] = await twoAt(id);

  await other.likes("Likeable.", 0).waitFor();
  await one.likes("Likeable.", 0).click();
  await one.likes("Likeable.", 1).waitFor();
  await other.likes("Likeable.", 1).waitFor();
  assert.equal(await one.likes("Likeable.", 1).getAttribute("aria-pressed"), "true");
  assert.equal(await other.likes("Likeable.", 1).getAttribute("aria-pressed"), "false");
  await one.likes("Likeable.", 1).click();
  await one.likes("Likeable.", 0).waitFor();
  await other.likes("Likeable.", 0).waitFor();
});

test("a comment with replies keeps its place when it is deleted, and so do the replies, on all pages", async () => {
  const { id } = await makeNote(newName("author"));
  const [one, other] = await twoAt(id);
  await one.say("A question.");
  await one.seeCount(1);
  await other.page.getByRole("button", { name: "Show 1 new comment" }).click();
  await other.answer("A question.", "An answer.");
  await one.seeCount(2);

  await one.comment("A question.").getByRole("button", { name: "Delete this comment" }).click();
  await one.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await one.comment("This comment was removed.").getByRole("button", { name: "Show 1 reply" }).click();
  await one.comment("An answer.").waitFor();
  await one.seeCount(1);
  await other.seeCount(1);
  await other.comment("This comment was removed.").waitFor();
  await other.comment("An answer.").waitFor();
  assert.deepEqual(await commentsOf(id), [""]);

  await other.comment("An answer.").getByRole("button", { name: "Delete this comment" }).click();
  await other.page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  for (const talk of [one, other]) {
    await talk.comment("An answer.").waitFor({ state: "detached" });
    await talk.seeCount(0);
  }
});

test("comments and replies are written by keyboard: Ctrl+Enter sends, Escape gives up", async () => {
  const { id } = await makeNote(newName("author"));
  const talk = await Talk.open(await arrive({ user: newName("one") }), id);
  const { keyboard } = talk.page;

  await talk.composer.focus();
  await keyboard.type("First line.");
  await keyboard.press("Enter");
  await keyboard.type("Second line.");
  await keyboard.press("Control+Enter");
  await talk.comment("Second line.").waitFor();
  await talk.seeCount(1);

  await talk.comment("Second line.").getByRole("button", { name: "Reply", exact: true }).press("Enter");
  const reply = talk.page.getByLabel(/^Reply to/);
  await reply.and(talk.page.locator(":focus")).waitFor();
  await keyboard.press("Escape");
  await reply.waitFor({ state: "detached" });

  await talk.comment("Second line.").getByRole("button", { name: "Reply", exact: true }).press("Enter");
  await reply.and(talk.page.locator(":focus")).waitFor();
  await keyboard.type("To myself.");
  await keyboard.press("Control+Enter");
  await talk.comment("To myself.").waitFor();
  await talk.seeCount(2);
});
