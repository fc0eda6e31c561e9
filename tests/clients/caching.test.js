import assert from "node:assert/strict";
import { test } from "node:test";
import { graphqlUrl } from "./server.js";
import { bearer, checkLiveLikes, newNote, socketUrl } from "./watching.js";
import { cachingClients } from "./caching.js";

const server = { graphqlUrl, socketUrl, bearer };

for (const [name, create] of Object.entries(cachingClients)) {
  test(`${name} updates a watched query from a subscription without update functions`, async (t) => {
    const [client, id] = [create(server), await newNote()];
    const { note, stop } = client.watch(id);
    t.after(() => (stop(), client.dispose()));
    await checkLiveLikes(note, id);
    assert.ok(note.latest.title, "only the query selects the title");
  });

  test(`${name} never shows an older count while it likes and receives events at the same time`, async (t) => {
    const [client, id] = [create(server), await newNote()];
    const { note, stop } = client.watch(id);
    t.after(() => (stop(), client.dispose()));
    await checkLiveLikes(note, id); // the subscription's first message has arrived
    for (let round = 0; round < 10; round++) {
      for (const [mutation, likes] of [["likeNote", 1], ["unlikeNote", 0]]) {
        const document = `mutation ($id: ID!) {
          ${mutation}(input: { noteId: $id }) { changed note { __typename id likeCount countsVersion } } }`;
        const reply = await client.mutate(document, { id });
        assert.deepEqual([reply[mutation].changed, reply[mutation].note.likeCount], [true, likes]);
        await note.waitForLikes(likes);
      }
    }
  });
}
