// What "GraphQL over HTTP", September 2026 (as its draft of 6 August 2026 reads), says that a server MUST or SHOULD do,
// in the order of its text. Of the statuses, 408 is in tests/integration/http/slow_clients.rs, 429 and 503 in rates.rs and
// connections.rs beside it.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { graphqlUrl, token } from "./server.js";
import { bearer, newNote } from "./watching.js";

const GRAPHQL = "application/graphql-response+json";
const JSON_TYPE = "application/json";
const TYPENAME = "{ __typename }";

async function answer(response) {
  const text = await response.text();
  const type = response.headers.get("content-type");
  const body = type?.includes("json") ? JSON.parse(text) : text;
  return { status: response.status, type, body, headers: response.headers };
}

const post = async (body, headers = {}) =>
  answer(
    await fetch(graphqlUrl, {
      method: "POST",
      headers: { "content-type": JSON_TYPE, accept: GRAPHQL, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    }),
  );

const get = async (parameters, headers = {}) =>
  answer(await fetch(`${graphqlUrl}?${new URLSearchParams(parameters)}`, { headers: { accept: GRAPHQL, ...headers } }));

/** The status of a refusal; its body is a well-formed response without data. */
async function refusal(asked) {
  const { status, type, body } = await asked;
  assert.match(type, /^application\/graphql-response\+json/);
  assert.ok(body.errors.length > 0 && !("data" in body), JSON.stringify(body));
  return status;
}

test("media types: UTF-8 is assumed, and said", async () => {
  const { type, body } = await post(JSON.stringify({ query: '{ note(id: "é") { id } }' }));
  assert.equal(type, `${GRAPHQL}; charset=utf-8`);
  assert.match(body.errors[0].message, /é/);
});

test("requests: POST is accepted, parameters that are null, and in a URL empty, are absent, unknown ones are ignored", async () => {
  const none = { operationName: null, variables: null, extensions: null };
  assert.equal((await post({ query: TYPENAME, ...none, unknown: 1 })).status, 200);
  const empty = { operationName: "", variables: "", extensions: "" };
  assert.equal((await get({ query: TYPENAME, ...empty, unknown: 1 })).status, 200);
  assert.equal((await get({ query: "query null { __typename }", operationName: "null" })).status, 200);
});

test("accept: the media type of the highest priority, and 406 without any", async () => {
  for (const [accept, expected] of [
    [`${GRAPHQL}, ${JSON_TYPE};q=0.9`, GRAPHQL],
    [`${GRAPHQL};q=0.8, ${JSON_TYPE}`, JSON_TYPE],
    ["text/html, */*;q=0.1", JSON_TYPE],
  ]) {
    assert.equal((await post({ query: TYPENAME }, { accept })).type.split(";")[0], expected, accept);
  }
  assert.equal((await post({ query: TYPENAME }, { accept: "text/html" })).status, 406);
});

test("GET: no mutation is executed, 405 says what is allowed", async () => {
  const id = await newNote();
  const query = `mutation { likeNote(input: { noteId: "${id}" }) { changed } }`;
  const { status, headers } = await get({ query }, { authorization: bearer });
  assert.deepEqual([status, headers.get("allow")], [405, "POST"]);
  assert.equal((await post({ query: `{ note(id: "${id}") { likeCount } }` })).body.data.note.likeCount, 0);
  const other = await answer(await fetch(graphqlUrl, { method: "PUT", headers: { accept: GRAPHQL } }));
  assert.equal(other.status, 405);
  assert.match(other.headers.get("allow"), /POST/);
});

test("POST: without a type, or of another one, 415", async () => {
  const bytes = new TextEncoder().encode(JSON.stringify({ query: TYPENAME }));
  const without = await fetch(graphqlUrl, { method: "POST", headers: { accept: GRAPHQL }, body: bytes });
  assert.equal(without.status, 415);
  assert.equal(await refusal(post({ query: TYPENAME }, { "content-type": "text/plain" })), 415);
});

test("validation: all rules apply, and nothing is executed", async () => {
  const id = await newNote();
  const query = `mutation { likeNote(input: { noteId: "${id}" }) { changed wrong } }`;
  assert.equal(await refusal(post({ query }, { authorization: bearer })), 422);
  assert.equal((await post({ query: `{ note(id: "${id}") { likeCount } }` })).body.data.note.likeCount, 0);
});

test("statuses: data is 200, data with errors 294, also if it is null", async () => {
  const whole = await post({ query: TYPENAME });
  assert.deepEqual([whole.status, whole.body], [200, { data: { __typename: "Query" } }]);
  const partial = await post({ query: '{ __typename note(id: "note_0") { id } }' });
  assert.deepEqual([partial.status, partial.body.data], [294, { __typename: "Query", note: null }]);
  const nothing = await post({ query: '{ nodes(ids: ["nothing"]) { id } }' });
  assert.deepEqual([nothing.status, nothing.body.data], [294, null]);
  assert.match(nothing.type, /^application\/graphql-response\+json/);
  const byGet = await get({ query: '{ __typename note(id: "note_0") { id } }' });
  assert.equal(byGet.status, 294);
});

test("statuses: 400 for what cannot be read, 422 for what can and is refused", async () => {
  const unreadable = ["NONSENSE", '{"query":', { query: "{" }, { query: "" }, { query: "{ feed(" }];
  for (const body of unreadable) assert.equal(await refusal(post(body)), 400, JSON.stringify(body));
  assert.equal(await refusal(get({ query: TYPENAME, variables: "{" })), 400);
  const refused = [
    // Not well-formed.
    { qeury: TYPENAME },
    { query: "query Q ($i: Int!) { q(i: $i) }", variables: [7] },
    { query: 7 },
    { query: TYPENAME, operationName: {} },
    { query: TYPENAME, extensions: "text" },
    [{ query: TYPENAME }],
    // Not valid.
    { query: "{ nothing }" },
    { query: "{ feed(first: true) { nodes { id } } }" },
    { query: "query ($a: Nothing) { __typename }", variables: { a: 1 } },
    { query: "query ($a: Int) { __typename }" },
    // No operation, or several.
    { query: "query A { __typename }", operationName: "B" },
    { query: "query A { __typename } query B { __typename }" },
    { query: "fragment A on Query { __typename }" },
    // Variables.
    { query: "query ($id: ID!) { note(id: $id) { id } }" },
    { query: "query ($n: Int) { feed(first: $n) { nodes { id } } }", variables: { n: "x" } },
  ];
  for (const body of refused) assert.equal(await refusal(post(body)), 422, JSON.stringify(body));
  assert.equal(await refusal(get({ variables: "{}" })), 422);
});

test("statuses: 401 and 403 for who may not ask, whatever the document is", async () => {
  for (const query of [TYPENAME, "{", "{ nothing }"]) {
    assert.equal(await refusal(post({ query }, { authorization: "Bearer wrong" })), 401);
    const acting = { authorization: `Bearer ${token}`, "plaudit-act-as": "somebody" };
    assert.equal(await refusal(post({ query }, acting)), 403);
  }
});

test("statuses: 413, 414 and 431 for what is too long", async () => {
  assert.equal(await refusal(post({ query: TYPENAME, unknown: "x".repeat(300_000) })), 413);
  assert.equal(await head(`GET /graphql?query=${"x".repeat(70_000)} HTTP/1.1\r\nHost: x\r\n\r\n`), 414);
  assert.equal(await head(`GET /graphql HTTP/1.1\r\nHost: x\r\nA: ${"x".repeat(300_000)}\r\n\r\n`), 431);
});

/** Sends the head of a request; returns the status. */
async function head(text) {
  const { hostname, port } = new URL(graphqlUrl);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.write(text);
  const [first] = await once(socket, "data");
  socket.destroy();
  return Number(String(first).split(" ")[1]);
}

// "If the Accept header … does indicate support for application/json, … the request SHOULD be performed … as if it had
// specified application/graphql-response+json" is held for all but documents: such a client takes their 4xx for the failure
// of a proxy, and the official audit wants 200.
test("legacy clients get application/json, with 200 whatever the document does", async () => {
  for (const [query, data] of [
    [TYPENAME, { __typename: "Query" }],
    ['{ note(id: "note_0") { id } }', { note: null }],
    ["{", undefined],
    ["{ nothing }", undefined],
  ]) {
    const { status, type, body } = await post({ query }, { accept: JSON_TYPE });
    assert.deepEqual([status, type, body.data], [200, `${JSON_TYPE}; charset=utf-8`, data], query);
  }
  for (const [body, status] of [["NONSENSE", 400], [{ qeury: TYPENAME }, 422]]) {
    assert.equal((await post(body, { accept: JSON_TYPE })).status, status);
  }
});
