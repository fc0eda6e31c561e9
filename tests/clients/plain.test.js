import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer, checkLiveLikes, newNote, socketUrl, streamUrl, WebSocket } from "./watching.js";
import { plainClients, query, watch } from "./plain.js";
import { createClient } from "graphql-ws";

const server = { socketUrl, streamUrl, bearer };

for (const [name, create] of Object.entries(plainClients)) {
  test(`${name} queries and subscribes`, async () => {
    const [client, id] = [create(server), await newNote()];
    assert.deepEqual((await query(client, id)).id, id);
    const { note, stop } = watch(client, id);
    await checkLiveLikes(note, id);
    stop();
    client.dispose();
  });

  test(`${name} reports the error code of an invalid operation`, async () => {
    const client = create(server);
    const sendInvalid = async () => {
      for await (const { errors } of client.iterate({ query: "{ nonsense }" })) throw errors;
    };
    await assert.rejects(sendInvalid, ([error]) => error.extensions.code === "GRAPHQL_VALIDATION_FAILED");
    client.dispose();
  });
}

test("graphql-ws gets close code 4403 for a refused token and reconnects with another token", async () => {
  const tokens = ["Bearer nonsense", bearer];
  const closes = [];
  const client = createClient({
    url: socketUrl,
    webSocketImpl: WebSocket,
    connectionParams: () => ({ Authorization: tokens.shift() }),
    shouldRetry: () => true,
    retryWait: async () => {},
    on: { closed: ({ code, reason }) => closes.push([code, reason]) },
  });
  const id = await newNote();
  assert.equal((await query(client, id)).id, id);
  assert.deepEqual(closes, [[4403, "Forbidden: the token is malformed"]]);
  await client.dispose();
});

test("graphql-ws keeps a connection alive with its own pings", async () => {
  const pongs = [];
  const client = createClient({
    url: socketUrl,
    webSocketImpl: WebSocket,
    lazy: false,
    keepAlive: 50,
    on: { pong: (received) => received && pongs.push(received) },
  });
  for (const start = Date.now(); pongs.length < 3; ) {
    assert.ok(Date.now() - start < 80_000, "three pongs within 80 s");
    await new Promise(setImmediate);
  }
  await client.dispose();
});
