// A socket takes 50 operations at once. Whatever the page runs on it, no action is undone because the places are taken.

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { createPlaudit } from "plaudit-client";

const PLACES = 50;
const STEP_MS = 250;
const STEPS = 4_000;

const FULL = { message: "50 operations run on this connection", extensions: { code: "LIMIT_EXCEEDED", retryable: false } };
const GONE = { message: "there is no such note", extensions: { code: "NOT_FOUND", retryable: false } };

beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
afterEach(() => {
  plaudit.close();
  mock.reset();
});

let plaudit;

/** A server behind one socket, which counts the places that are taken. */
class Places {
  running = new Map();
  most = 0;
  refused = [];
  /** Ids of the notes that were liked, in their order. */
  liked = [];
  subscribed = 0;
  /** Notes that cannot be watched. */
  gone = new Set();
  /** Requests are answered when the test says so. */
  isHeld = false;

  get WebSocket() {
    const server = this;
    return class {
      readyState = 1;
      constructor() {
        server.deliver = (message) => setImmediate(() => this.onmessage({ data: JSON.stringify(message) }));
        setImmediate(() => this.onopen());
      }
      send(text) {
        server.receive(JSON.parse(text));
      }
      close() {}
    };
  }

  receive({ type, id, payload }) {
    if (type === "connection_init") this.deliver({ type: "connection_ack" });
    if (type === "complete") this.running.delete(id);
    if (type !== "subscribe") return;
    const { query, variables } = payload;
    if (this.running.size === PLACES) return this.refuse(id, query, FULL);
    if (query.startsWith("subscription")) this.subscribed += 1;
    if (variables?.ids?.some((note) => this.gone.has(note)) && query.startsWith("subscription")) return this.refuse(id, query, GONE);
    this.running.set(id, payload);
    this.most = Math.max(this.most, this.running.size);
    if (!this.isHeld) this.answer(id);
  }

  refuse(id, query, problem) {
    this.refused.push(query.split(" ")[0]);
    this.deliver({ id, type: "error", payload: [problem] });
  }

  answerAll() {
    for (const id of this.running.keys()) this.answer(id);
  }

  answer(id) {
    const { query, variables } = this.running.get(id);
    if (query.startsWith("subscription")) return this.deliver({ id, type: "next", payload: { data: {} } });
    const note = (id) => ({ id, __typename: "Note", countsVersion: 1, likeCount: 1, viewerHasLiked: true });
    if (query.startsWith("mutation")) this.liked.push(variables.id);
    const data = query.startsWith("mutation")
      ? { done: { changed: true, note: note(variables.id) } }
      : { nodes: variables.ids.map(note) };
    this.running.delete(id);
    this.deliver({ id, type: "next", payload: { data } });
    this.deliver({ id, type: "complete" });
  }
}

function open() {
  const server = new Places();
  plaudit = createPlaudit({ url: "http://model.test/graphql", webSocket: server.WebSocket });
  return server;
}

/** Lets time pass until it is true. */
async function until(isTrue, each = () => {}) {
  for (let step = 0; step < STEPS && !isTrue(); step += 1) {
    each();
    mock.timers.tick(STEP_MS);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  }
  assert.ok(isTrue(), String(isTrue));
}

const notes = (count) => Array.from({ length: count }, (_, at) => `note_${at + 1}`);

/** Likes the notes; `ended` gets the outcomes. */
function like(ids) {
  const ended = [];
  for (const id of ids) plaudit.like(id).then(({ state, error }) => ended.push(error?.code ?? state));
  return ended;
}

/** Subscriptions of the app; the list has those that were refused. */
function subscribe(count, refused = []) {
  const query = "subscription ($at: Int) { noteCountsChanged }";
  const error = ([{ extensions }]) => refused.push(extensions.code);
  for (let at = 0; at < count; at += 1) plaudit.subscribe({ query, variables: { at } }, { next() {}, error, complete() {} });
  return refused;
}

test("hundreds of actions run a few at a time, in their order, however slow the answers are", async () => {
  const server = open();
  server.isHeld = true;
  const ids = notes(300);
  const ended = like(ids);
  let steps = 0;
  await until(() => ended.length === ids.length, () => (steps += 1) % 8 === 0 && server.answerAll());
  assert.ok(server.most <= 12, `${server.most} at once`);
  assert.deepEqual(ended, ids.map(() => "done"));
  assert.deepEqual(server.liked, ids);
  assert.deepEqual(server.refused, []);
});

test("with 50 subscriptions open, likes are done, and all subscriptions go on", async () => {
  const server = open();
  const refused = subscribe(PLACES);
  await until(() => server.running.size === PLACES);
  const before = [...server.running.values()].map(({ variables }) => variables.at);
  const ids = notes(120);
  const ended = like(ids);
  await until(() => ended.length === ids.length);
  assert.deepEqual(ended, ids.map(() => "done"));
  assert.ok(server.refused.length > 0, "the places were taken");
  await until(() => server.running.size === PLACES);
  const after = [...server.running.values()].map(({ variables }) => variables.at);
  assert.deepEqual(after.sort((a, b) => a - b), before);
  assert.deepEqual(refused, []);
});

test("a like waits while requests of the app take all places", async () => {
  const server = open();
  server.isHeld = true;
  const requests = Array.from({ length: PLACES }, () => plaudit.request("query ($ids: [ID!]!) { nodes }", { ids: [] }));
  await until(() => server.running.size === PLACES);
  const ended = like(["note_1"]);
  await until(() => server.refused.length > 3);
  assert.deepEqual(ended, []);
  server.isHeld = false;
  server.answerAll();
  await until(() => ended.length > 0);
  assert.deepEqual(ended, ["done"]);
  await Promise.all(requests);
});

test("a subscription that comes while requests take the last places begins after them; one too many is refused", async () => {
  const server = open();
  const refused = subscribe(PLACES - 2);
  await until(() => server.running.size === PLACES - 2);
  server.isHeld = true;
  const ended = like(["note_1", "note_2"]);
  await until(() => server.running.size === PLACES);
  subscribe(2, refused);
  await until(() => server.refused.length > 2);
  assert.deepEqual(refused, []);
  server.isHeld = false;
  server.answerAll();
  await until(() => server.running.size === PLACES);
  assert.deepEqual([ended, refused], [["done", "done"], []]);
  subscribe(1, refused);
  await until(() => refused.length > 0);
  assert.deepEqual([refused, server.running.size], [["LIMIT_EXCEEDED"], PLACES]);
});

test("one object of a hundred that cannot be watched takes few places from the others", async () => {
  const server = open();
  server.gone.add("note_42");
  const ids = notes(100);
  plaudit.counts(ids).subscribe(() => {});
  const watched = () => [...server.running.values()].flatMap(({ variables }) => variables.ids);
  await until(() => watched().length === ids.length - 1);
  assert.deepEqual(new Set(watched()), new Set(ids.filter((id) => id !== "note_42")));
  assert.ok(server.subscribed <= 15, `${server.subscribed} subscriptions`);
  assert.equal(plaudit.shown("note_42").error.code, "NOT_FOUND");
});
