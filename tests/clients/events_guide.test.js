// The workers in docs/guide/events.md, by query and by subscription: they run as they are printed there.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { after, afterEach, before, test } from "node:test";
import { OwnServer } from "../own_server.js";
import { Proxy } from "./proxy.js";
import { closeAll, eventually, open } from "./screen.js";
import { like, newNote, send } from "./watching.js";

const page = readFileSync(new URL("../../docs/guide/events.md", import.meta.url), "utf8");
const [code, subscriber] = Array.from(page.matchAll(/^```js\n(.*?)^```$/gms), ([, text]) => text);
const MOST_LINES = 40;
const WAIT_MS = 60_000;

const server = new OwnServer();
const workers = [];
before(() => server.start());
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.dispose();
});
after(() => server.dispose());

const as = (user, role) => ({ url: server.graphqlUrl, bearer: server.bearer(user, role) });
const settings = (role) => ({ GRAPHQL_URL: server.graphqlUrl, SOCKET_URL: server.socketUrl, TOKEN: server.bearer("worker", role).slice("Bearer ".length) });

/** The worker, in a directory of its own, where it finds its state when it is started again. */
class Worker {
  #dir = mkdtempSync(join(tmpdir(), "plaudit-worker-"));
  #process;
  #exited;
  /** What all its processes have printed. */
  output = "";

  #file;

  /** `state` is what it finds at its first start, in a file of that name. */
  constructor(state, script = code, file = "state.json") {
    this.#file = file;
    writeFileSync(join(this.#dir, "worker.mjs"), script);
    symlinkSync(join(import.meta.dirname, "node_modules"), join(this.#dir, "node_modules"));
    if (state) writeFileSync(join(this.#dir, file), JSON.stringify(state));
    workers.push(this);
  }

  start(env) {
    this.#process = spawn(process.execPath, ["worker.mjs"], { cwd: this.#dir, env: { PATH: process.env.PATH, ...env } });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => (this.output += text));
    }
    this.#exited = once(this.#process, "close");
    return this;
  }

  get #hasEnded() {
    return this.#process.exitCode !== null;
  }

  get stored() {
    try {
      return readFileSync(join(this.#dir, this.#file), "utf8");
    } catch {
      return "";
    }
  }

  /** For messages of failures. */
  get told() {
    return `the worker's last output:\n${this.output.split("\n").slice(-20).join("\n")}`;
  }

  lines(beginning) {
    return this.output.split("\n").filter((line) => line.startsWith(beginning));
  }

  /** Waits until it is true of a worker that runs. */
  async waitFor(isTrue, what) {
    const told = () => `${what}; ${this.told}`;
    await eventually(() => this.#hasEnded || isTrue(), told);
    assert.ok(isTrue(), `the worker has ended without ${told()}`);
  }

  /** Waits until it has ended by itself; returns its exit code. */
  async end() {
    await eventually(() => this.#hasEnded, () => `the end of the worker; ${this.told}`);
    await this.#exited;
    return this.#process.exitCode;
  }

  async kill() {
    this.#process.kill("SIGKILL");
    await this.#exited;
  }

  async dispose() {
    await this.kill();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** Waits until the worker has stored the cursor of the newest event: then it has handled all. */
async function waitUntilStored(worker) {
  const service = as("worker", "service");
  for (const deadline = performance.now() + WAIT_MS; ; await pause(100)) {
    const { events } = await send("{ events { pageInfo { endCursor hasNextPage } } }", {}, service);
    assert.ok(!events.pageInfo.hasNextPage, "the tests have more events than a page");
    if (worker.stored.includes(events.pageInfo.endCursor)) return;
    assert.ok(performance.now() < deadline, `the worker stores no cursor; ${worker.told}`);
  }
}

test(`the worker has at most ${MOST_LINES} lines`, () => {
  assert.ok(code.split("\n").length - 1 <= MOST_LINES);
});

test("the worker pushes a like once and mails its digest once, also if it is killed in between", async () => {
  const id = await newNote(as("author"));
  const worker = new Worker().start(settings("service"));
  const pushed = (times) => worker.waitFor(() => worker.lines("push author ").length >= times, `${times} notices`);
  await like(id, as("first"));
  await pushed(1);
  assert.match(worker.lines("push")[0], /^push author .+ liked "Watched [0-9a-f-]+" \S+$/);
  await waitUntilStored(worker);
  await worker.kill();
  worker.start({ ...settings("service"), DIGEST_EVERY: "0" });
  await worker.waitFor(() => worker.lines("mail author new notices: 1 ").length === 1, "the digest of the first like");
  await like(id, as("second"));
  await pushed(2);
  await worker.waitFor(() => worker.lines("mail").length === 2, "the digest of the second like");
  const ids = worker.lines("push").map((line) => line.split(" ").at(-1));
  assert.equal(new Set(ids).size, 2, worker.told);
  assert.equal(ids.length, 2, `a notice came again; ${worker.told}`);
});

test("the worker says that Plaudit is away, and goes on when it is back", async () => {
  const id = await newNote(as("patient"));
  const worker = new Worker().start(settings("service"));
  await like(id, as("first"));
  await worker.waitFor(() => worker.lines("push patient ").length === 1, "the first notice");
  await server.kill();
  await worker.waitFor(() => /^fetch failed/m.test(worker.output), "an error that is printed");
  await server.start();
  await like(id, as("second"));
  await worker.waitFor(() => worker.lines("push patient ").length === 2, "the second notice");
});

test("the worker by subscription has each event once, over lost connections and restarts of both", async () => {
  const id = await newNote(as("subscribed"));
  const worker = new Worker(undefined, subscriber, "cursor").start(settings("service"));
  const likes = () => worker.lines("LIKED ").filter((line) => line.endsWith(` ${id}`));
  let times = 0;
  const liked = async () => {
    await like(id, as(`liker.${++times}`));
    await worker.waitFor(() => likes().length >= times, `like ${times}`);
  };
  // Without a cursor it has what happens from then on: the first message says that it is subscribed.
  await worker.waitFor(() => worker.stored, "its first page");
  await liked();
  await liked();
  for (const end of [() => server.stop(), () => server.kill()]) {
    await end();
    await server.start();
    await liked();
  }
  await waitUntilStored(worker); // after a kill before that, the newest events come again
  await worker.kill();
  await like(id, as(`liker.${++times}`)); // while it is away
  worker.start(settings("service"));
  await liked();
  const all = worker.lines("LIKED ");
  assert.equal(new Set(all).size, all.length, `an event came again; ${worker.told}`);
  assert.equal(likes().length, times, worker.told);
});

test("a subscription of plaudit-client goes on after the last page, over lost connections", async () => {
  const id = await newNote(as("lined"));
  const network = await new Proxy(server.origin).start();
  const token = server.bearer("worker", "service").slice("Bearer ".length);
  const { plaudit } = open({ url: network.graphqlUrl, token });
  const cursors = [];
  let hasBegun = false;
  const next = ({ data }) => {
    hasBegun = true;
    cursors.push(...data.events.nodes.filter(({ type, target }) => type === "LIKED" && target.id === id).map(({ cursor }) => cursor));
  };
  const query = "subscription ($after: String) { events(after: $after) { nodes { cursor type target { id } } pageInfo { endCursor } } }";
  plaudit.subscribe({ query }, { next, error: assert.fail, complete: assert.fail });
  await eventually(() => hasBegun, "the first page");
  for (let times = 1; times <= 6; times += 1) {
    if (times % 2) network.cut();
    else await eventually(() => cursors.length === times - 1, "what happened meanwhile");
    await like(id, as(`lined.${times}`));
    network.restore();
    await eventually(() => cursors.length >= times, `like ${times}`);
  }
  assert.equal(new Set(cursors).size, 6);
  assert.equal(cursors.length, 6);
  closeAll();
  network.dispose();
});

test("the worker ends with a message at what no repetition mends", async () => {
  const wrong = {
    "the token is malformed": new Worker().start({ ...settings("service"), TOKEN: "nonsense" }),
    "this needs a token with the role service": new Worker().start(settings("user")),
    "it is not a cursor of an event": new Worker({ digests: {}, mailedAt: Date.now(), after: "nonsense" }).start(settings("service")),
  };
  for (const [message, worker] of Object.entries(wrong)) {
    assert.equal(await worker.end(), 1, worker.told);
    assert.ok(worker.output.includes(message), `expected "${message}"; ${worker.told}`);
  }
});

test("the worker repeats what may be repeated, and goes on after continueAfter", async (t) => {
  const failed = (message, extensions) => JSON.stringify({ data: { events: null }, errors: [{ message, extensions }] });
  const answers = [
    failed("a store is away", { code: "RETRY_LATER", retryable: true, retryAfter: 0 }),
    failed("events are lost", { code: "BAD_USER_INPUT", retryable: false, continueAfter: "kept", retryAfter: 0 }),
    "<html>a proxy's page</html>",
  ];
  const asked = [];
  const fake = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    asked.push(JSON.parse(body).variables.after);
    const page = { nodes: [], pageInfo: { endCursor: "kept", hasNextPage: false } };
    response.end(answers.shift() ?? JSON.stringify({ data: { events: page } }));
  }).listen(0, "127.0.0.1");
  t.after(() => (fake.close(), fake.closeAllConnections()));
  await once(fake, "listening");
  const GRAPHQL_URL = `http://127.0.0.1:${fake.address().port}/graphql`;
  const worker = new Worker({ digests: {}, mailedAt: Date.now(), after: "lost" }).start({ GRAPHQL_URL });
  await worker.waitFor(() => asked.length === 4, "four requests");
  assert.deepEqual(asked, ["lost", "lost", "kept", "kept"], worker.told);
  const messages = ["a store is away", "events are lost", "<html>"];
  for (const message of messages) assert.ok(worker.output.includes(message), `no "${message}"; ${worker.told}`);
});
