// An open page loses its network or its server and recovers by itself.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { OwnServer } from "../own_server.js";
import { baseUrl, developmentToken, send } from "./browser.js";
import { screens, visitorsForTests } from "./visitor.js";

const openVisitor = visitorsForTests();

const LIKE = "mutation ($id: ID!) { likeNote(input: { noteId: $id }) { changed note { likeCount } } }";

/** Likes a note through the API; returns the new count. */
async function likeThroughApi(id, user, origin = baseUrl) {
  const { likeNote } = await send(LIKE, await developmentToken(user, "user", origin), { id }, origin);
  assert.equal(likeNote.changed, true);
  return likeNote.note.likeCount;
}

for (const [name, screen] of Object.entries(screens)) {
  test(`on a ${name}, a page that was offline shows a like, and sends it when it is online again`, async () => {
    const visitor = await openVisitor({ screen });
    await visitor.goTo("/");
    const id = (await visitor.notes())[0];

    await visitor.context.setOffline(true);
    await visitor.page.locator('[data-state="waiting"]').first().waitFor();
    const count = await visitor.count(id, "Like");
    const isOn = (await visitor.button(id, "Like").getAttribute("aria-pressed")) === "true";
    const shown = count + (isOn ? -1 : 1);
    await visitor.button(id, "Like").click();
    await visitor.waitForCount(id, "Like", shown);

    const others = await likeThroughApi(id, `offline.${name}.${Date.now()}`);
    assert.equal(others, count + 1);
    await visitor.context.setOffline(false);
    await visitor.waitUntilLive();
    await visitor.waitForCount(id, "Like", shown + 1);
    visitor.ignoreConnectionErrors();
  });
}

describe("with a server of its own", () => {
  const server = new OwnServer();
  let id;

  before(async () => {
    await server.start();
    const token = await developmentToken("mira.okafor", "user", server.origin);
    const create = `mutation { createNote(input: { title: "Steady", body: "It stays." }) { note { id } } }`;
    id = (await send(create, token, {}, server.origin)).createNote.note.id;
  });
  after(() => server.dispose());

  async function stopAndForgetSecret() {
    await server.stop();
    server.forgetSecret();
  }

  for (const [name, end, screen] of [
    ["killed", () => server.kill(), screens.desktop],
    ["killed, with a phone connected,", () => server.kill(), screens.phone],
    ["stopped", () => server.stop(), screens.desktop],
    ["stopped, and its token secret deleted,", stopAndForgetSecret, screens.desktop],
  ]) {
    test(`a page whose server is ${name} and started again reconnects and shows the right counts`, async () => {
      const visitor = await openVisitor({ origin: server.origin, screen });
      await visitor.goTo("/");
      const userSuffix = name.replace(/\W+/g, ".");
      const before = await likeThroughApi(id, `before.${userSuffix}`, server.origin);
      await visitor.waitForCount(id, "Like", before);

      await end();
      await visitor.page.locator('[data-state="waiting"], [data-state="connecting"]').first().waitFor();
      await server.start();
      const after = await likeThroughApi(id, `after.${userSuffix}`, server.origin);
      assert.equal(after, before + 1);
      await visitor.waitUntilLive();
      await visitor.waitForCount(id, "Like", after);
      await visitor.button(id, "Like").click();
      await visitor.waitForCount(id, "Like", after + 1);
      await visitor.button(id, "Like").click();
      await visitor.waitForCount(id, "Like", after);
      visitor.ignoreConnectionErrors();
    });
  }
});
