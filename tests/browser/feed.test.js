import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { developmentToken, send } from "./browser.js";
import { openDoors, screens } from "./visitor.js";

const arrive = openDoors();

/** Counts of a note, as the API gives them to `user`. */
async function noteAsToldTo(user, id) {
  const query = "query ($id: ID!) { note(id: $id) { likeCount collectCount viewerHasLiked viewerHasCollected } }";
  return (await send(query, await developmentToken(user), { id })).note;
}

for (const [name, screen] of Object.entries(screens)) {
  describe(`on a ${name}`, () => {
    test("the feed shows each note with the counts that the API gives, and goes on while one scrolls", async () => {
      const visitor = await arrive({ screen });
      await visitor.goTo("/");
      const first = await visitor.notes();
      for (const id of first.slice(0, 3)) {
        const { likeCount, collectCount, viewerHasLiked } = await noteAsToldTo("mira.okafor", id);
        await visitor.see(id, "Like", likeCount);
        await visitor.see(id, "Collect", collectCount);
        assert.equal(await visitor.button(id, "Like").getAttribute("aria-pressed"), String(viewerHasLiked));
      }
      await visitor.card(first.at(-1)).scrollIntoViewIfNeeded();
      await visitor.page.locator("article[data-note]").nth(first.length).waitFor();
      const all = await visitor.notes();
      assert.equal(new Set(all).size, all.length, "no note stands there twice");
    });

    test("likes and collects show at once, move another's page by one, and are taken back the same way", async () => {
      const mira = await arrive({ screen });
      const freya = await arrive({ screen, user: "freya.jorgensen" });
      await mira.goTo("/");
      await freya.goTo("/");
      const id = (await freya.notes())[1];

      for (const label of ["Like", "Collect"]) {
        const count = await mira.count(id, label);
        const isOn = (await mira.button(id, label).getAttribute("aria-pressed")) === "true";
        const moved = count + (isOn ? -1 : 1);
        await mira.button(id, label).click();
        await mira.see(id, label, moved);
        await freya.see(id, label, moved);
        await mira.button(id, label).click();
        await mira.see(id, label, count);
        await freya.see(id, label, count);
      }
    });

    test("a like that fails is taken back, and a message says why", async () => {
      const visitor = await arrive({ screen });
      await visitor.goTo("/");
      const id = (await visitor.notes())[0];
      const count = await visitor.count(id, "Like");
      const isOn = await visitor.button(id, "Like").getAttribute("aria-pressed");

      await visitor.page.route("**/graphql", (route) =>
        route.fulfill({
          contentType: "application/graphql-response+json",
          body: JSON.stringify({
            data: { likeNote: null, unlikeNote: null },
            errors: [{ message: "busy", extensions: { code: "RETRY_LATER", retryable: true } }],
          }),
        }),
      );
      await visitor.button(id, "Like").click();
      await visitor.page.getByText("Try again in a moment").waitFor();
      await visitor.see(id, "Like", count);
      assert.equal(await visitor.button(id, "Like").getAttribute("aria-pressed"), isOn);
    });
  });
}

test("everything in the feed is done by keyboard too", async () => {
  const visitor = await arrive();
  await visitor.goTo("/");
  const id = (await visitor.notes())[2];
  const count = await visitor.count(id, "Like");
  const isOn = (await visitor.button(id, "Like").getAttribute("aria-pressed")) === "true";
  await visitor.button(id, "Like").focus();
  await visitor.page.keyboard.press("Enter");
  await visitor.see(id, "Like", count + (isOn ? -1 : 1));
  await visitor.page.keyboard.press("Space");
  await visitor.see(id, "Like", count);
  await visitor.page.keyboard.press("Tab");
  const focused = await visitor.page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  assert.match(focused, /^Comments/);
});
