import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer, likeAndLook, newNote, socketUrl, streamUrl, WebSocket } from "./watching.js";
import { plainClients, query, watch } from "./plain.js";
import { createClient } from "graphql-ws";

const server = { socketUrl, streamUrl, bearer };

for (const [name, create] of Object.entries(plainClients)) {
  test(`${name} asks once and watches`, async () => {
    const [client, id] = [create(server), await newNote()];
    assert.deepEqual((await query(client, id)).id, id);
    const { shown, stop } = watch(client, id);
    await likeAndLook(shown, id);
    stop();
    client.dispose();
  });

  test(`${name} tells why an operation is refused`, async () => {
    const client = create(server);
    const refused = async () => {
      for await (const { errors } of client.iterate({ query: "{ nonsense }" })) throw errors;
    };
    await assert.rejects(refused, ([error]) => error.extensions.code === "GRAPHQL_VALIDATION_FAILED");
    client.dispose();
  });
}

test("graphql-ws gets 4403 for a refused token, and reconnects with another", async () => {
  const tokens = ["Bearer nonsense", bearer];
  const closed = [];
  const client = createClient({
    url: socketUrl,
    webSocketImpl: WebSocket,
    connectionParams: () => ({ Authorization: tokens.shift() }),
    shouldRetry: () => true,
    retryWait: async () => {},
    on: { closed: ({ code, reason }) => closed.push([code, reason]) },
  });
  const id = await newNote();
  assert.equal((await query(client, id)).id, id);
  assert.deepEqual(closed, [[4403, "Forbidden: the token is malformed"]]);
  await client.dispose();
});

test("graphql-ws keeps a connection alive by pings of its own", async () => {
  const pongs = [];
  const client = createClient({
    url: socketUrl,
    webSocketImpl: WebSocket,
    lazy: false,
    keepAlive: 50,
    on: { pong: (received) => received && pongs.push(received) },
  });
  for (const began = Date.now(); pongs.length < 3; ) {
    assert.ok(Date.now() - began < 80_000, "pongs");
    await new Promise(setImmediate);
  }
  await client.dispose();
});
