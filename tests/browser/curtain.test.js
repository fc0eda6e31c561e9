// The drawer that shows what goes over the wire.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { developmentToken, send } from "./browser.js";
import { Drawer, goSideBySide, turn } from "./live.js";
import { openDoors, screens } from "./visitor.js";

const arrive = openDoors();

/** What a like is in the list, or the like that is taken back. */
const LIKE = /(L|Unl)ikeNote/;

/** Turns a like of the feed; the drawer, open, has it. */
async function likeAndLook(visitor) {
  await visitor.goTo("/");
  const id = (await visitor.notes())[4];
  const answered = visitor.page.waitForResponse((response) => response.request().postData()?.includes("likeNote("));
  await turn(visitor, id, "Like");
  const answer = await (await answered).json();
  const drawer = new Drawer(visitor);
  await drawer.open();
  return { id, answer, drawer };
}

for (const [name, screen] of Object.entries(screens)) {
  describe(`on a ${name}`, () => {
    test("the drawer shows the operation of a like with its variables, and the frames of the socket", async () => {
      const visitor = await arrive({ screen });
      const { id, drawer } = await likeAndLook(visitor);

      const row = await drawer.unfold(LIKE);
      await row.getByText(/^\d+ ms$/).waitFor();
      assert.match(await row.getByLabel("Document").innerText(), /^mutation (Unl|L)ikeNote\(\$noteId: ID!\)/);
      assert.deepEqual(JSON.parse(await row.getByLabel("Variables").innerText()), { noteId: id });

      await drawer.press("Frames");
      await drawer.rows("connection_ack").waitFor();
      const sent = await drawer.unfold("connection_init");
      assert.doesNotMatch(await sent.innerText(), /Bearer|eyJ/, "nobody reads the token");
      await drawer.rows("next").filter({ hasText: id }).first().waitFor();

      await drawer.press("Close");
      await drawer.panel.waitFor({ state: "detached" });
    });

    test("pause holds what is shown while more arrives, and clear empties it", async () => {
      const visitor = await arrive({ screen });
      const { id, drawer } = await likeAndLook(visitor);
      await drawer.press("Frames");
      await drawer.rows("next").first().waitFor();

      await drawer.press("Pause");
      const held = await drawer.rows("next").first().innerText();
      let count = await visitor.count(id, "Like");
      for (const i of [1, 2, 3]) {
        const token = await developmentToken(`curtain.${name}.${Date.now()}.${i}`);
        await send("mutation ($id: ID!) { likeNote(input: { noteId: $id }) { changed } }", token, { id });
        await visitor.see(id, "Like", ++count);
      }
      assert.equal(await drawer.rows("next").first().innerText(), held);
      await drawer.press("Pause");
      await drawer.rows("next").filter({ hasText: `"likeCount":${count}` }).first().waitFor();

      await drawer.press("Clear");
      await drawer.rows("connection_ack").waitFor({ state: "detached" });
    });
  });
}

test("Ctrl+. opens the drawer and closes it; Escape closes it too, and the focus goes back", async () => {
  const visitor = await arrive();
  await visitor.goTo("/");
  const [id] = await visitor.notes();
  const drawer = new Drawer(visitor);
  await visitor.button(id, "Collect").focus();
  for (const closing of ["Control+.", "Escape"]) {
    await visitor.page.keyboard.press("Control+.");
    await drawer.panel.waitFor();
    await visitor.page.keyboard.press(closing);
    await drawer.panel.waitFor({ state: "detached" });
    assert.match(await visitor.page.evaluate(() => document.activeElement.getAttribute("aria-label")), /^Collect/);
  }
});

test("an operation opens in GraphiQL as it was sent", async () => {
  const visitor = await arrive();
  const { id, drawer } = await likeAndLook(visitor);
  const row = await drawer.unfold(LIKE);
  const opened = visitor.context.waitForEvent("page");
  await row.getByRole("link", { name: "Open in GraphiQL" }).click();
  const graphiql = await opened;
  const { name } = /^mutation (?<name>\w+)/.exec(await row.getByLabel("Document").innerText()).groups;
  await graphiql.locator(".graphiql-query-editor .view-line", { hasText: `mutation ${name}(` }).waitFor();
  await graphiql.locator(".graphiql-editor-tool .view-line", { hasText: id }).waitFor();
});

test("the copied curl runs in a shell as it is, and is answered like the page", async () => {
  const visitor = await arrive({ permissions: ["clipboard-read", "clipboard-write"] });
  const { answer, drawer } = await likeAndLook(visitor);
  const row = await drawer.unfold(LIKE);
  await row.getByText("Copy as").click();
  await row.getByRole("button", { name: "curl" }).click();
  await row.getByText("curl copied").waitFor();
  const script = await visitor.page.evaluate(() => navigator.clipboard.readText());

  const { stdout } = await promisify(execFile)("sh", ["-c", script]);
  const [[field, { note }]] = Object.entries(answer.data);
  const again = JSON.parse(stdout).data[field];
  // It was done already: the same again changes nothing.
  assert.deepEqual(again, { ...answer.data[field], changed: false, note: { ...note, ...countsOf(again.note) } });
});

/** Others may have moved these meanwhile. */
const countsOf = ({ likeCount, countsVersion }) => ({ likeCount, countsVersion });

test("side by side, the drawer shows either of both, by name", async () => {
  const visitor = await arrive();
  const { right } = await goSideBySide(visitor);
  await turn(right, (await right.notes())[5], "Collect");
  const drawer = new Drawer(visitor);
  await drawer.open();
  await drawer.rows("Feed").first().waitFor();
  assert.equal(await drawer.rows("ollectNote").count(), 0);
  await drawer.press("freya.jorgensen");
  await drawer.rows("ollectNote").waitFor();
});
