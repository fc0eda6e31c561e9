import { after, before, test } from "node:test";
import { cachingClients } from "./caching.js";
import { OwnServer } from "../own_server.js";
import { plainClients, watch } from "./plain.js";
import { like, newNote } from "./watching.js";

const server = new OwnServer();
before(() => server.start());
after(() => server.dispose());

/** Creates all clients; each watches the same note. */
function createClients(id) {
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

const ends = { "kill -9": () => server.kill(), "a graceful stop": () => server.stop() };
for (const [name, end] of Object.entries(ends)) {
  test(`after ${name} and a restart every client reconnects by itself and shows the right counts`, async () => {
    const id = await newNote({ url: server.graphqlUrl, bearer: server.bearer("author") });
    const clients = createClients(id);
    const waitForLikes = (likes) => Promise.all(clients.map(({ note }) => note.waitForLikes(likes)));
    await waitForLikes(0);
    await like(id, { url: server.graphqlUrl, bearer: server.bearer("first") });
    await waitForLikes(1);
    await end();
    await server.start();
    // Most clients have not reconnected yet, so the initial event must include this like.
    await like(id, { url: server.graphqlUrl, bearer: server.bearer("second") });
    await waitForLikes(2);
    await like(id, { url: server.graphqlUrl, bearer: server.bearer("third") });
    await waitForLikes(3);
    for (const { stop, dispose } of clients) {
      stop();
      dispose();
    }
  });
}
