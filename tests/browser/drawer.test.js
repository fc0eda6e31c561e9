// The drawer that shows the page's operations and WebSocket frames.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { developmentToken, send } from "./browser.js";
import { Drawer } from "./drawer.js";
import { openSideBySide } from "./side_by_side.js";
import { screens, visitorsForTests } from "./visitor.js";

const openVisitor = visitorsForTests();

/** Operation name of a like or an unlike. */
const LIKE_OR_UNLIKE = /(L|Unl)ikeNote/;

/** Toggles the like of a note in the feed and opens the drawer. */
async function likeAndOpenDrawer(visitor) {
  await visitor.goTo("/");
  const id = (await visitor.notes())[4];
  await visitor.toggle(id, "Like");
  const drawer = new Drawer(visitor);
  await drawer.open();
  return { id, drawer };
}

for (const [name, screen] of Object.entries(screens)) {
  describe(`on a ${name}`, () => {
    test("the drawer shows the operation of a like with its variables, and the frames of the socket", async () => {
      const visitor = await openVisitor({ screen });
      const { id, drawer } = await likeAndOpenDrawer(visitor);

      const row = await drawer.expand(LIKE_OR_UNLIKE);
      await row.getByText(/^\d+ ms$/).waitFor();
      assert.match(await row.getByLabel("Document").innerText(), /^mutation (Unl|L)ikeNote\(\$noteId: ID!\)/);
      assert.deepEqual(JSON.parse(await row.getByLabel("Variables").innerText()), { noteId: id });

      await drawer.press("Frames");
      await drawer.rows("connection_ack").waitFor();
      const sentFrame = await drawer.expand("connection_init");
      assert.doesNotMatch(await sentFrame.innerText(), /Bearer|eyJ/, "the drawer hides the token");
      await drawer.rows("next").filter({ hasText: id }).first().waitFor();

      await drawer.press("Close");
      await drawer.panel.waitFor({ state: "detached" });
    });

    test("Pause freezes the list while frames arrive, and Clear empties it", async () => {
      const visitor = await openVisitor({ screen });
      const { id, drawer } = await likeAndOpenDrawer(visitor);
      await drawer.press("Frames");
      await drawer.rows("next").first().waitFor();

      await drawer.press("Pause");
      const frozenRow = await drawer.rows("next").first().innerText();
      let count = await visitor.count(id, "Like");
      for (const i of [1, 2, 3]) {
        const token = await developmentToken(`drawer.${name}.${Date.now()}.${i}`);
        await send("mutation ($id: ID!) { likeNote(input: { noteId: $id }) { changed } }", token, { id });
        await visitor.waitForCount(id, "Like", ++count);
      }
      assert.equal(await drawer.rows("next").first().innerText(), frozenRow);
      await drawer.press("Pause");
      await drawer.rows("next").filter({ hasText: `"likeCount":${count}` }).first().waitFor();

      await drawer.press("Clear");
      await drawer.rows("connection_ack").waitFor({ state: "detached" });
    });
  });
}

test("Ctrl+. opens and closes the drawer, Escape closes it, and the focus returns to where it was", async () => {
  const visitor = await openVisitor();
  await visitor.goTo("/");
  const [id] = await visitor.notes();
  const drawer = new Drawer(visitor);
  await visitor.button(id, "Collect").focus();
  for (const closingKey of ["Control+.", "Escape"]) {
    await visitor.page.keyboard.press("Control+.");
    await drawer.panel.waitFor();
    await visitor.page.keyboard.press(closingKey);
    await drawer.panel.waitFor({ state: "detached" });
    assert.match(await visitor.page.evaluate(() => document.activeElement.getAttribute("aria-label")), /^Collect/);
  }
});

test("an operation opens in GraphiQL with its document and variables", async () => {
  const visitor = await openVisitor();
  const { id, drawer } = await likeAndOpenDrawer(visitor);
  const row = await drawer.expand(LIKE_OR_UNLIKE);
  const newPage = visitor.context.waitForEvent("page");
  await row.getByRole("link", { name: "Open in GraphiQL" }).click();
  const graphiql = await newPage;
  const { name } = /^mutation (?<name>\w+)/.exec(await row.getByLabel("Document").innerText()).groups;
  await graphiql.locator(".graphiql-query-editor .view-line", { hasText: `mutation ${name}(` }).waitFor();
  await graphiql.locator(".graphiql-editor-tool .view-line", { hasText: id }).waitFor();
});

test("the copied curl command runs in a shell and gets the same result as the page", async () => {
  const visitor = await openVisitor({ permissions: ["clipboard-read", "clipboard-write"] });
  const { id, drawer } = await likeAndOpenDrawer(visitor);
  const isOn = (await visitor.button(id, "Like").getAttribute("aria-pressed")) === "true";
  const row = await drawer.expand(LIKE_OR_UNLIKE);
  await row.getByText(/^\d+ ms$/).waitFor();
  await row.getByText("Copy as").click();
  await row.getByRole("button", { name: "curl" }).click();
  await row.getByText("curl copied").waitFor();
  const script = await visitor.page.evaluate(() => navigator.clipboard.readText());

  const { stdout } = await promisify(execFile)("sh", ["-c", script]);
  const { changed, note } = JSON.parse(stdout).data[isOn ? "likeNote" : "unlikeNote"];
  // The page has already made the change, so the repeated mutation reports `changed: false`.
  assert.equal(changed, false);
  assert.equal(note.id, id);
  assert.equal(note.viewerHasLiked, isOn);
});

test("on the side-by-side page the drawer shows the traffic of the chosen user", async () => {
  const visitor = await openVisitor();
  const { right } = await openSideBySide(visitor);
  await right.toggle((await right.notes())[5], "Collect");
  const drawer = new Drawer(visitor);
  await drawer.open();
  await drawer.rows("Feed").first().waitFor();
  assert.equal(await drawer.rows("ollectNote").count(), 0);
  await drawer.press("freya.jorgensen");
  await drawer.rows("ollectNote").waitFor();
});
