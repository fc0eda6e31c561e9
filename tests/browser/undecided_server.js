// A server whose moderator never decides, so that every text waits for a person.

import { once } from "node:events";
import { createServer } from "node:http";
import { after, before } from "node:test";
import { OwnServer } from "../own_server.js";

/** Starts it before the tests of a file and stops it after them. `flags` are additional flags. */
export function undecidedServerForTests(flags = []) {
  /** A language model that never returns a verdict. */
  const model = createServer((request, response) => {
    request.resume();
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ choices: [{ message: { content: "Hard to say." } }] }));
  });
  const started = {};
  before(async () => {
    await once(model.listen(0, "127.0.0.1"), "listening");
    const url = `http://127.0.0.1:${model.address().port}/v1`;
    const moderator = ["--moderator", "http", "--moderator-url", url, "--moderator-model", "undecided"];
    started.server = new OwnServer([...moderator, ...flags]);
    await started.server.start();
  });
  after(async () => {
    await started.server?.dispose();
    model.closeAllConnections();
    model.close();
  });
  return started;
}
