import { after, before, test } from "node:test";
import { cachingClients } from "./caching.js";
import { OwnServer } from "../own_server.js";
import { plainClients, watch } from "./plain.js";
import { like, newNote } from "./watching.js";

const server = new OwnServer();
before(() => server.start());
after(() => server.dispose());

/** All four, each watching the same note. */
function everyClient(id) {
  const setup = {
    graphqlUrl: server.graphqlUrl,
    socketUrl: server.socketUrl,
    streamUrl: server.streamUrl,
    bearer: server.bearer("watcher"),
  };
  const plain = Object.values(plainClients).map((create) => {
    const client = create(setup);
    return { ...watch(client, id), dispose: () => client.dispose() };
  });
  const caching = Object.values(cachingClients).map((create) => {
    const client = create(setup);
    return { ...client.watch(id), dispose: () => client.dispose() };
  });
  return [...plain, ...caching];
}

const ends = { "kill -9": () => server.kill(), "a stop": () => server.stop() };
for (const [name, end] of Object.entries(ends)) {
  test(`after ${name} and a restart every client comes back by itself, to the right numbers`, async () => {
    const id = await newNote({ url: server.graphqlUrl, bearer: server.bearer("author") });
    const clients = everyClient(id);
    const allShow = (likes) => Promise.all(clients.map(({ shown }) => shown.likes(likes)));
    await allShow(0);
    await like(id, { url: server.graphqlUrl, bearer: server.bearer("first") });
    await allShow(1);
    await end();
    await server.start();
    // Most of them have not come back yet: the present state must have what they missed.
    await like(id, { url: server.graphqlUrl, bearer: server.bearer("second") });
    await allShow(2);
    await like(id, { url: server.graphqlUrl, bearer: server.bearer("third") });
    await allShow(3);
    for (const { stop, dispose } of clients) {
      stop();
      dispose();
    }
  });
}
