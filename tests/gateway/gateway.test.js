import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { assertCompositionSuccess, composeServices } from "@theguild/federation-composition";
import { parse } from "graphql";
import { OwnServer } from "../own_server.js";
import { keys, startPosts, typeDefs, withStub } from "./posts.js";

const here = import.meta.dirname;
const dir = mkdtempSync(join(tmpdir(), "plaudit-gateway-"));
writeFileSync(join(dir, "manifest.json"), JSON.stringify({ kind: "{ __typename }" }));
// The gateway's documents are not in the manifest, and its address may read nothing.
const plaudit = new OwnServer([
  "--federation",
  ...["--trusted-proxies", "127.0.0.1"],
  ...["--only-trusted-documents", "--trusted-documents", join(dir, "manifest.json")],
  ...["--rate-window", "1h", "--rate-address-reads", "1"],
]);
const gateways = [];
let posts, url, reader;

before(async () => {
  posts = await startPosts();
  await plaudit.start();
  reader = plaudit.bearer("reader");
  const service = plaudit.bearer("app", "service");
  for (const key of keys) {
    const create = `mutation { createNote(input: { title: "A post", body: "Its text", key: "${key}" }) { note { id } } }`;
    const created = await send(plaudit.graphqlUrl, create, {}, service);
    assert.ok(created.data?.createNote.note.id, JSON.stringify(created));
  }
  url = await startGateway(typeDefs);
});

after(async () => {
  for (const gateway of gateways.filter(({ exitCode }) => exitCode === null)) {
    const exited = once(gateway, "exit");
    gateway.kill("SIGKILL");
    await exited;
  }
  posts?.stop();
  await plaudit.dispose();
  rmSync(dir, { recursive: true, force: true });
});

async function readsAllPostsWithOneRequestForEntities(gateway) {
  const before = await entityRequests();
  const query = "{ posts { id headline counts { likeCount commentCount viewerHasLiked } } }";
  const { data, errors } = await send(gateway, query, {}, reader);
  assert.equal(errors, undefined, JSON.stringify(errors));
  const counts = { likeCount: 0, commentCount: 0, viewerHasLiked: false };
  const expected = keys.map((id, n) => ({ id, headline: `Headline ${n + 1}`, counts }));
  assert.deepEqual(data.posts, expected);
  assert.equal((await entityRequests()) - before, 1);
}

test("a query over both subgraphs sends one request for all entities", () => readsAllPostsWithOneRequestForEntities(url));

test("a stub of notes in the app's subgraph is enough for it", async () =>
  readsAllPostsWithOneRequestForEntities(await startGateway(withStub)));

test("a like goes through the gateway as its user's, and its note has the fields of the app", async () => {
  const like = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed note { likeCount viewerHasLiked post { headline } } } }";
  for (const changed of [true, false]) {
    const { data, errors } = await send(url, like, { n: `note:${keys[0]}` }, reader);
    assert.equal(errors, undefined, JSON.stringify(errors));
    const note = { likeCount: 1, viewerHasLiked: true, post: { headline: "Headline 1" } };
    assert.deepEqual(data.likeNote, { changed, note });
  }
  const refused = await send(url, like, { n: `note:${keys[0]}` });
  assert.equal(refused.errors[0].extensions.code, "UNAUTHENTICATED", JSON.stringify(refused));
});

test("what Plaudit refuses (422), and errors beside data (294), come through the gateway", async () => {
  const pages = "{ feed(first: 100) { nodes { comments(first: 100) { nodes { id } } } } }";
  const { data, errors } = await send(url, pages);
  assert.deepEqual([data?.feed ?? null, errors[0].extensions.reason], [null, "TOO_COMPLEX"], JSON.stringify(errors));
  const partial = await send(url, `{ feed(first: 1) { nodes { id } } note(id: "note_0") { id } }`);
  assert.ok(partial.data.feed.nodes && partial.data.note === null, JSON.stringify(partial));
  assert.equal(partial.errors[0].extensions.code, "BAD_USER_INPUT");
});

test("events of a subscription come through the gateway with the fields of the app", async () => {
  const id = `note:${keys[1]}`;
  const watch = `subscription { noteCountsChanged(noteIds: ["${id}"]) { key likeCount post { headline } } }`;
  const abort = new AbortController();
  const stream = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream", authorization: reader },
    body: JSON.stringify({ query: watch }),
    signal: abort.signal,
  });
  assert.equal(stream.status, 200);
  const events = eventsOf(stream.body);
  const event = (likeCount) => ({ key: keys[1], likeCount, post: { headline: "Headline 2" } });
  assert.deepEqual(await nextCounts(events, 0), event(0));
  const like = `mutation { likeNote(input: { noteId: "${id}" }) { changed } }`;
  assert.equal((await send(url, like, {}, reader)).data.likeNote.changed, true);
  assert.deepEqual(await nextCounts(events, 1), event(1));
  abort.abort();
});

/** The next event with so many likes. */
async function nextCounts(events, likeCount) {
  for (;;) {
    const { value, done } = await events.next();
    assert.ok(!done, "the stream ended");
    assert.equal(value.errors, undefined, JSON.stringify(value));
    if (value.data.noteCountsChanged.likeCount === likeCount) return value.data.noteCountsChanged;
  }
}

async function* eventsOf(body) {
  let text = "";
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    text += part;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: {"));
      if (data) yield JSON.parse(data.slice("data: ".length));
    }
  }
}

async function send(to, query, variables = {}, authorization) {
  const headers = { "content-type": "application/json", ...(authorization && { authorization }) };
  const response = await fetch(to, { method: "POST", headers, body: JSON.stringify({ query, variables }) });
  return response.json();
}

/** Requests for entities that have reached Plaudit. One text of metrics is for a second; without `Age` it is of now. */
async function entityRequests() {
  let answer;
  do answer = await fetch(`${plaudit.origin}/metrics`);
  while (answer.headers.has("age"));
  const text = await answer.text();
  const lines = text.split("\n").filter((line) => line.startsWith("plaudit_request_seconds_count"));
  const counts = lines.filter((line) => line.includes('operation="_entities"')).map((line) => Number(line.split(" ").pop()));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Composes Plaudit and an app's subgraph, and starts a gateway on them. */
async function startGateway(app) {
  const sdl = await send(plaudit.graphqlUrl, "{ _service { sdl } }");
  const composed = composeServices([
    { name: "plaudit", url: plaudit.graphqlUrl, typeDefs: parse(sdl.data._service.sdl) },
    { name: "posts", url: posts.url, typeDefs: app },
  ]);
  assertCompositionSuccess(composed);
  const port = await freePort();
  const supergraph = join(dir, `supergraph-${port}.graphql`);
  writeFileSync(supergraph, composed.supergraphSdl);
  const url = `http://127.0.0.1:${port}/graphql`;
  const flags = ["supergraph", supergraph, "-c", join(here, "gateway.config.js")];
  const bin = join(here, "node_modules/.bin/hive-gateway");
  const gateway = spawn(bin, [...flags, "--host", "127.0.0.1", "--port", String(port)], { cwd: here, stdio: ["ignore", "pipe", "pipe"] });
  gateways.push(gateway);
  let log = "";
  for (const stream of [gateway.stdout, gateway.stderr]) stream.on("data", (text) => (log += text));
  for (const start = Date.now(); ; await pause(100)) {
    assert.ok(gateway.exitCode === null && Date.now() - start < 120_000, `the gateway did not start: ${log}`);
    try {
      if ((await send(url, "{ __typename }")).data) return url;
    } catch {
      // It does not listen yet.
    }
  }
}

async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  return port;
}
