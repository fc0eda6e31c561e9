// The network or the server goes away under an open page, and comes back.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { OwnServer } from "../own_server.js";
import { baseUrl, developmentToken, send } from "./browser.js";
import { openDoors, screens } from "./visitor.js";

const arrive = openDoors();

const LIKE = "mutation ($id: ID!) { likeNote(input: { noteId: $id }) { changed note { likeCount } } }";

/** A user whom no page shows likes it. Returns the new count. */
async function somebodyLikes(id, user, origin = baseUrl) {
  const { likeNote } = await send(LIKE, await developmentToken(user, "user", origin), { id }, origin);
  assert.equal(likeNote.changed, true);
  return likeNote.note.likeCount;
}

for (const [name, screen] of Object.entries(screens)) {
  test(`on a ${name}, who was offline comes back to the right numbers, and is told in between`, async () => {
    const visitor = await arrive({ screen });
    await visitor.goTo("/");
    const id = (await visitor.notes())[0];

    await visitor.context.setOffline(true);
    await visitor.page.locator('[data-state="waiting"]').first().waitFor();
    const count = await visitor.count(id, "Like");
    await visitor.button(id, "Like").click();
    await visitor.page.getByText("You are offline.").waitFor();
    await visitor.see(id, "Like", count);

    const moved = await somebodyLikes(id, `offline.${name}.${Date.now()}`);
    await visitor.context.setOffline(false);
    await visitor.seeLive();
    await visitor.see(id, "Like", moved);
    visitor.forgiveConnections();
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

  async function forget() {
    await server.stop();
    server.forgetSecret();
  }

  for (const [what, end, screen] of [
    ["killed", () => server.kill(), screens.desktop],
    ["killed under a phone", () => server.kill(), screens.phone],
    ["stopped", () => server.stop(), screens.desktop],
    ["stopped, and forgets the tokens that it gave,", forget, screens.desktop],
  ]) {
    test(`a page whose server is ${what} and started again recovers by itself, with the right numbers`, async () => {
      const visitor = await arrive({ origin: server.origin, screen });
      await visitor.goTo("/");
      const somebody = what.replace(/\W+/g, ".");
      const before = await somebodyLikes(id, `before.${somebody}`, server.origin);
      await visitor.see(id, "Like", before);

      await end();
      await visitor.page.locator('[data-state="waiting"], [data-state="connecting"]').first().waitFor();
      await server.start();
      const after = await somebodyLikes(id, `after.${somebody}`, server.origin);
      assert.equal(after, before + 1);
      await visitor.seeLive();
      await visitor.see(id, "Like", after);
      await visitor.button(id, "Like").click();
      await visitor.see(id, "Like", after + 1);
      await visitor.button(id, "Like").click();
      await visitor.see(id, "Like", after);
      visitor.forgiveConnections();
    });
  }
});
