import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { developmentToken, send } from "./browser.js";
import { createNote, newName } from "./test_data.js";
import { interceptSocket, screens, visitorsForTests } from "./visitor.js";

const openVisitor = visitorsForTests();

/** Counts of a note and the flags of `user`, read through the API. */
async function noteForUser(user, id) {
  const query = "query ($id: ID!) { note(id: $id) { likeCount collectCount viewerHasLiked viewerHasCollected } }";
  return (await send(query, await developmentToken(user), { id })).note;
}

for (const [name, screen] of Object.entries(screens)) {
  describe(`on a ${name}`, () => {
    test("the feed shows the counts of the API and loads more notes while the user scrolls", async () => {
      const visitor = await openVisitor({ screen });
      await visitor.goTo("/");
      const first = await visitor.notes();
      for (const id of first.slice(0, 3)) {
        const { likeCount, collectCount, viewerHasLiked } = await noteForUser("mira.okafor", id);
        await visitor.waitForCount(id, "Like", likeCount);
        await visitor.waitForCount(id, "Collect", collectCount);
        assert.equal(await visitor.button(id, "Like").getAttribute("aria-pressed"), String(viewerHasLiked));
      }
      await visitor.card(first.at(-1)).scrollIntoViewIfNeeded();
      await visitor.page.locator("article[data-note]").nth(first.length).waitFor();
      const all = await visitor.notes();
      assert.equal(new Set(all).size, all.length, "no note is listed twice");
    });

    test("likes and collects show at once, change another user's page by one, and can be undone", async () => {
      const mira = await openVisitor({ screen });
      const freya = await openVisitor({ screen, user: "freya.jorgensen" });
      await mira.goTo("/");
      await freya.goTo("/");
      const id = (await freya.notes())[1];

      for (const label of ["Like", "Collect"]) {
        const count = await mira.count(id, label);
        const isOn = (await mira.button(id, label).getAttribute("aria-pressed")) === "true";
        const changedCount = count + (isOn ? -1 : 1);
        await mira.button(id, label).click();
        await mira.waitForCount(id, label, changedCount);
        await freya.waitForCount(id, label, changedCount);
        await mira.button(id, label).click();
        await mira.waitForCount(id, label, count);
        await freya.waitForCount(id, label, count);
      }
    });

    test("notes that others post are offered above the feed, also after another page, and shown on demand", async () => {
      const visitor = await openVisitor({ screen, user: newName("reader") });
      await visitor.goTo("/");
      const before = await visitor.notes();
      /** Other tests post notes, too. */
      const offer = visitor.page.getByRole("button", { name: /^Show \d+ new notes?$/ });

      const first = await createNote(newName("one"));
      await offer.waitFor();
      // The next page may have been loaded below.
      const now = (await visitor.notes()).slice(0, before.length);
      assert.deepEqual(now, before, "nothing moves until the user wants it");
      await visitor.page.getByRole("link", { name: "Hot", exact: true }).click();
      await visitor.page.getByRole("heading", { level: 1, name: "Hot" }).waitFor();
      const second = await createNote(newName("two"));
      await visitor.page.goBack();
      await visitor.page.getByRole("button", { name: /^Show ([2-9]|\d\d) new notes$/ }).click();

      await visitor.card(second.id).waitFor();
      const after = await visitor.notes();
      const ours = after.filter((id) => [second.id, first.id, before[0]].includes(id));
      assert.deepEqual(ours, [second.id, first.id, before[0]], "the newest first");
    });

    test("a rating shows at once on two pages, and can be taken back", async () => {
      const note = await createNote(newName("rated"));
      const [rater, reader] = [await openVisitor({ screen, user: newName("rater") }), await openVisitor({ screen })];
      for (const visitor of [rater, reader]) await visitor.goTo(`/note/${note.id}`);
      await rater.page.getByRole("button", { name: "Rate it" }).click();
      await rater.page.getByRole("radio", { name: "7" }).check({ force: true });
      for (const { page } of [rater, reader]) await page.locator('[data-average="7"]').waitFor();
      await rater.page.getByRole("button", { name: "You gave 7" }).waitFor();
      await rater.page.getByRole("button", { name: "Take it back" }).click();
      for (const { page } of [rater, reader]) await page.getByText("Nobody has rated this yet.").waitFor();
      await rater.page.getByRole("button", { name: "Rate it" }).waitFor();
    });

    test("a failed like is undone, and a message gives the reason", async () => {
      const visitor = await openVisitor({ screen });
      const errors = [{ message: "The note is closed", extensions: { code: "FORBIDDEN", retryable: false } }];
      await interceptSocket(visitor, ({ id, payload }, { forward, reply }) => {
        if (!/ (un)?likeNote/.test(payload?.query ?? "")) return forward();
        reply({ id, type: "next", payload: { data: { done: null }, errors } });
        reply({ id, type: "complete" });
      });
      await visitor.goTo("/");
      const id = (await visitor.notes())[0];
      const count = await visitor.count(id, "Like");
      const isOn = await visitor.button(id, "Like").getAttribute("aria-pressed");

      await visitor.button(id, "Like").click();
      await visitor.page.getByText("The note is closed").waitFor();
      await visitor.waitForCount(id, "Like", count);
      assert.equal(await visitor.button(id, "Like").getAttribute("aria-pressed"), isOn);
    });
  });
}

test("a note in the feed can be liked and unliked by keyboard", async () => {
  const visitor = await openVisitor();
  await visitor.goTo("/");
  const id = (await visitor.notes())[2];
  const count = await visitor.count(id, "Like");
  const isOn = (await visitor.button(id, "Like").getAttribute("aria-pressed")) === "true";
  await visitor.button(id, "Like").focus();
  await visitor.page.keyboard.press("Enter");
  await visitor.waitForCount(id, "Like", count + (isOn ? -1 : 1));
  await visitor.page.keyboard.press("Space");
  await visitor.waitForCount(id, "Like", count);
  await visitor.page.keyboard.press("Tab");
  const focused = await visitor.page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  assert.match(focused, /^Comments/);
});
