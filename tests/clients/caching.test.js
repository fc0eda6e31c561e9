import assert from "node:assert/strict";
import { test } from "node:test";
import { graphqlUrl } from "./server.js";
import { bearer, checkLiveLikes, like, newNote, socketUrl, unlike } from "./watching.js";
import { cachingClients, newestCaching } from "./caching.js";
import { heldWebSocket } from "./held_socket.js";

const server = { graphqlUrl, socketUrl, bearer };

for (const [name, create] of Object.entries(cachingClients)) {
  test(`${name} updates a watched query from a subscription without update functions`, async (t) => {
    const { note, id } = await watchNewNote(t, create(server));
    await checkLiveLikes(note, id);
    assert.ok(note.latest.title, "only the query selects the title");
  });
}

for (const [name, create] of Object.entries(newestCaching)) {
  test(`${name} never shows an older count while it likes and receives events at the same time`, async (t) => {
    const client = create(server);
    const { note, id } = await watchNewNote(t, client);
    await checkLiveLikes(note, id); // the subscription's first message has arrived
    for (let round = 0; round < 10; round++) {
      await changeLike(client, "likeNote", { id, likes: 1 });
      await note.waitForLikes(1);
      await changeLike(client, "unlikeNote", { id, likes: 0 });
      await note.waitForLikes(0);
    }
  });

  test(`${name} never shows an older count when events arrive after a later answer`, async (t) => {
    const socket = heldWebSocket();
    const { note, id, refetch } = await watchNewNote(t, create({ ...server, webSocket: socket.WebSocket }));
    await checkLiveLikes(note, id);
    socket.hold();
    await like(id);
    await socket.holds(`"likeCount":1`);
    await unlike(id);
    await socket.holds(`"likeCount":0`);
    await like(id);
    await refetch();
    await note.waitForLikes(1);
    socket.release();
    await unlike(id);
    await note.waitForLikes(0);
  });
}

test("urql with plaudit-client shows an event while the answer to an unlike is on its way", async (t) => {
  const socket = heldWebSocket();
  const client = newestCaching["urql with plaudit-client"]({ ...server, webSocket: socket.WebSocket });
  const { note, id } = await watchNewNote(t, client);
  await checkLiveLikes(note, id);
  await like(id);
  await note.waitForLikes(1);
  const answer = `"done"`;
  socket.hold(answer);
  // The watched query does not select viewerHasLiked, so the cache cannot predict the count.
  const unliked = changeLike(client, "unlikeNote", { id, likes: 0 });
  await socket.holds(answer);
  await note.waitForLikes(0);
  socket.release();
  await unliked;
  assert.equal(note.latest.likeCount, 0);
});

async function watchNewNote(t, client) {
  const id = await newNote();
  const { note, refetch, stop } = client.watch(id);
  t.after(() => (stop(), client.dispose()));
  return { note, id, refetch };
}

async function changeLike(client, mutation, { id, likes }) {
  const document = `mutation ($id: ID!) {
    ${mutation}(input: { noteId: $id }) { changed note { __typename id likeCount countsVersion } } }`;
  const reply = (await client.mutate(document, { id }))[mutation];
  assert.deepEqual([reply.changed, reply.note.likeCount], [true, likes]);
}
