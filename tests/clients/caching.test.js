import assert from "node:assert/strict";
import { test } from "node:test";
import { graphqlUrl } from "./server.js";
import { bearer, likeAndLook, newNote, socketUrl } from "./watching.js";
import { cachingClients } from "./caching.js";

const server = { graphqlUrl, socketUrl, bearer };

for (const [name, create] of Object.entries(cachingClients)) {
  test(`${name} updates a watched query from a subscription, with no code of its own`, async (t) => {
    const [client, id] = [create(server), await newNote()];
    const { shown, stop } = client.watch(id);
    t.after(() => (stop(), client.dispose()));
    await likeAndLook(shown, id);
    assert.ok(shown.latest.title, "only the query asked for the title");
  });

  test(`${name} never shows a count of before, while it likes and is pushed at the same time`, async (t) => {
    const [client, id] = [create(server), await newNote()];
    const { shown, stop } = client.watch(id);
    t.after(() => (stop(), client.dispose()));
    await shown.likes(0);
    for (let round = 0; round < 10; round++) {
      for (const [mutation, likes] of [["likeNote", 1], ["unlikeNote", 0]]) {
        const document = `mutation ($id: ID!) {
          ${mutation}(input: { noteId: $id }) { changed note { __typename id likeCount countsVersion } } }`;
        const reply = await client.mutate(document, { id });
        assert.deepEqual([reply[mutation].changed, reply[mutation].note.likeCount], [true, likes]);
        await shown.likes(likes);
      }
    }
  });
}
