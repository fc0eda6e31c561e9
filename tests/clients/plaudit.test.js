// plaudit-client against the real server: it shows the right counts through every kind of trouble.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, mock, test } from "node:test";
import { keepFor } from "plaudit-client";
import { OwnServer } from "../own_server.js";
import { Proxy } from "./proxy.js";
import { closeAll, eventually, nowSeconds, open, recordingSockets, sharedStorage, sign } from "./screen.js";
import { like, newNote, send, unlike } from "./watching.js";

const HOUR_MS = 3_600_000;

const server = new OwnServer();
const proxies = [];
before(() => server.start());
afterEach(() => {
  closeAll();
  mock.restoreAll();
  for (const proxy of proxies.splice(0)) proxy.dispose();
});
after(() => server.dispose());

const bearer = (user) => server.bearer(user);
const as = (user) => ({ url: server.graphqlUrl, bearer: bearer(user) });
const token = (user) => bearer(user).slice("Bearer ".length);
const note = () => newNote(as("author"));

/** Notes of the app, so many; returns their keys. */
async function notesWithKeys(name, count, of = server) {
  const keys = Array.from({ length: count }, (_, at) => `${name}-${at}`);
  const notes = keys.map((key) => ({ key, authorId: `user:${name}`, title: key, body: key }));
  const write = `mutation ($notes: [NoteUpsert!]!) {
    upsertUsers(input: { users: [{ subject: "${name}", name: "N" }] }) { results { outcome } }
    upsertNotes(input: { notes: $notes }) { results { outcome } } }`;
  await send(write, { notes }, { url: of.graphqlUrl, bearer: of.bearer("app", "service") });
  return keys;
}

async function proxy() {
  const one = await new Proxy(server.origin).start();
  proxies.push(one);
  return one;
}

/** Whether the user likes the note, and how many do, by the server. */
async function truth(id, user) {
  const query = "query ($id: ID!) { note(id: $id) { likeCount viewerHasLiked } }";
  return (await send(query, { id }, as(user))).note;
}

/** Taps a like button so many times, in the rhythm of a finger, and calls `look` after each. Resolves when the last one is settled. */
async function tap(plaudit, id, times, everyMs, look) {
  let last;
  for (let done = 0; done < times; done += 1) {
    const isOn = done % 2 === 0;
    last = plaudit.like(id, isOn);
    look(isOn);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  return last;
}

for (const [transport, webSocket] of [["a WebSocket"], ["server-sent events", null]]) {
  test(`over ${transport}, likes show at once, count once, and arrive on other pages`, async () => {
    const id = await note();
    const options = webSocket === null ? { webSocket } : {};
    const mine = open({ url: server.graphqlUrl, token: token("one"), ...options });
    const theirs = open({ url: server.graphqlUrl, ...options });
    const [my, their] = [mine.screen(id), theirs.screen(id)];
    await my.waitFor(0, false);
    const settled = mine.plaudit.like(id);
    assert.equal(my.latest.counts.likeCount, 1);
    assert.deepEqual(await settled, { state: "done" });
    await their.waitFor(1);
    await like(id, as("another"));
    for (const screen of [my, their]) await screen.waitFor(2);
    await mine.plaudit.like(id, false);
    for (const screen of [my, their]) await screen.waitFor(1);
    await my.waitFor(1, false);
    assert.deepEqual([...mine.errors, ...theirs.errors], []);
  });
}

test("an app's own key and the id of one note are one source", async () => {
  const service = { url: server.graphqlUrl, bearer: server.bearer("app", "service") };
  const write = `mutation { upsertUsers(input: { users: [{ subject: "s1", name: "S" }] }) { results { outcome } }
    upsertNotes(input: { notes: [{ key: "post-1", authorId: "user:s1", title: "T", body: "B" }] }) { results { note { id } } } }`;
  const [{ note }] = (await send(write, {}, service)).upsertNotes.results;
  const { plaudit, screen } = open({ url: server.graphqlUrl, token: token("keys") });
  const [byKey, byId] = [screen("note:post-1"), screen(note.id)];
  await byKey.waitFor(0, false);
  await byId.waitFor(0, false);
  await plaudit.like("note:post-1");
  assert.equal(byId.latest.own.like, true);
  await byId.waitFor(1, true);
  await byKey.waitFor(1, true);
});

test("follows and memberships are actions like likes", async () => {
  const group = "mutation { createGroup(input: { name: \"G\", description: \"\" }) { group { id } } }";
  const { id } = (await send(group, {}, as("owner"))).createGroup.group;
  const { plaudit } = open({ url: server.graphqlUrl, token: token("member") });
  assert.deepEqual(await plaudit.join(id), { state: "done" });
  assert.deepEqual(await plaudit.follow("user:owner"), { state: "done" });
  assert.equal(plaudit.shown(id).counts.memberCount, 1);
  assert.equal(plaudit.shown("user:owner").counts.followerCount, 1);
  for (const wrong of [plaudit.collect(id), plaudit.like("post-1"), plaudit.like(undefined)]) {
    const { state, error } = await wrong;
    assert.equal(`${state} ${error.code}`, "refused BAD_REF");
  }
});

test("views are counted once, and gathered", async () => {
  const id = await note();
  const { plaudit } = open({ url: server.graphqlUrl, token: token("viewer") });
  const source = plaudit.counts(id);
  source.subscribe(() => {});
  for (let times = 0; times < 5; times += 1) plaudit.seen(id);
  await eventually(() => source.current[0].counts.viewCount === 1, "a view");
});

describe("in a bad network", () => {
  test("one that flaps every moment, the count never goes back and ends right", async () => {
    const [id, network] = [await note(), await proxy()];
    const pages = ["flapping.a", "flapping.b"].map((user) => open({ url: network.graphqlUrl, token: token(user) }));
    const screens = pages.map(({ screen }) => screen(id));
    for (let turn = 0; turn < 12; turn += 1) {
      pages[turn % 2].plaudit.like(id, turn % 4 < 2);
      await new Promise((resolve) => setTimeout(resolve, 120)); // the rhythm of the network
      if (turn % 3 === 0) network.cut();
      if (turn % 3 === 1) network.restore();
    }
    network.restore();
    const last = await Promise.all(pages.map(({ plaudit }, at) => plaudit.like(id, at === 0)));
    assert.deepEqual(last, [{ state: "done" }, { state: "done" }]);
    await screens[0].waitFor(1, true);
    await screens[1].waitFor(1, false);
    assert.deepEqual(await truth(id, "flapping.a"), { likeCount: 1, viewerHasLiked: true });
  });

  test("as slow as 3G, each tap shows at once, few requests are sent, and the count ends right", async () => {
    const [id, network] = [await note(), await proxy()];
    network.latencyMs = 300;
    const { Recording, mutations } = recordingSockets();
    const { plaudit, screen } = open({ url: network.graphqlUrl, token: token("slow"), webSocket: Recording });
    const page = screen(id);
    await page.waitFor(0, false);
    await tap(plaudit, id, 21, 25, (isOn) => assert.equal(page.latest.counts.likeCount, isOn ? 1 : 0));
    await page.waitFor(1, true);
    assert.ok(mutations.length <= 3, `${mutations.length} requests`);
    assert.deepEqual(await truth(id, "slow"), { likeCount: 1, viewerHasLiked: true });
  });

  test("that is away for an hour, a like is kept, shown, and sent when it is back", async () => {
    const [id, network] = [await note(), await proxy()];
    const { plaudit, screen } = open({ url: network.graphqlUrl, token: token("away") });
    const page = screen(id);
    await page.waitFor(0, false);
    network.cut();
    await eventually(() => plaudit.connection.state !== "open", "the end of the connection");
    const settled = plaudit.like(id);
    await page.waitFor(1, true);
    const { now } = Date;
    mock.method(Date, "now", () => now() + HOUR_MS);
    network.restore();
    assert.deepEqual(await settled, { state: "done" });
    assert.deepEqual(await truth(id, "away"), { likeCount: 1, viewerHasLiked: true });
  });

  test("that is away, likes of hundreds of notes are kept, and sent in their order without a flood", async () => {
    const keys = await notesWithKeys("many", 220); // more than a socket takes at once
    const network = await proxy();
    network.cut();
    const { Recording, mutations } = recordingSockets();
    const { plaudit, errors } = open({ url: network.graphqlUrl, token: token("liker.of.many"), webSocket: Recording });
    const settled = keys.map((key) => plaudit.like(`note:${key}`));
    network.restore();
    assert.deepEqual(await Promise.all(settled), keys.map(() => ({ state: "done" })));
    assert.deepEqual(mutations.map(({ variables }) => variables.id), keys.map((key) => `note:${key}`));
    assert.equal(plaudit.connection.reconnects, 0);
    assert.deepEqual(errors, []);
  });

  test("that is away for longer than the limit, a like is undone with the reason, and not sent", async () => {
    const [id, network] = [await note(), await proxy()];
    const { plaudit, screen } = open({ url: network.graphqlUrl, token: token("late"), maxAge: HOUR_MS });
    const page = screen(id);
    await page.waitFor(0, false);
    network.cut();
    await eventually(() => plaudit.connection.state !== "open", "the end of the connection");
    const settled = plaudit.like(id);
    const { now } = Date;
    mock.method(Date, "now", () => now() + 2 * HOUR_MS);
    network.restore();
    const { state, error } = await settled;
    assert.equal(`${state} ${error.code}`, "refused TOO_OLD");
    await page.waitFor(0, false);
    assert.equal((await truth(id, "late")).viewerHasLiked, false);
  });

  test("that blocks WebSockets, the page goes on by server-sent events", async () => {
    const [id, network] = [await note(), await proxy()];
    network.rewrite = (bytes) => (bytes.includes("/graphql/ws") ? null : bytes);
    const { plaudit, screen, errors } = open({ url: network.graphqlUrl, token: token("blocked") });
    const page = screen(id);
    await page.waitFor(0, false);
    assert.equal(plaudit.connection.isStream, true);
    assert.deepEqual(await plaudit.like(id), { state: "done" });
    await like(id, as("blocked.other"));
    await page.waitFor(2, true);
    assert.deepEqual(errors, []);
  });
});

test("a hundred taps in a second are few requests, one at a time, each with its key, and the last one wins", async () => {
  const id = await note();
  const { Recording, mutations } = recordingSockets();
  const { plaudit, screen } = open({ url: server.graphqlUrl, token: token("tapper"), webSocket: Recording });
  const page = screen(id);
  await page.waitFor(0, false);
  await tap(plaudit, id, 100, 10, (isOn) => assert.equal(page.latest.own.like, isOn, "each tap shows at once"));
  await page.waitFor(0, false);
  assert.ok(mutations.length < 100, `${mutations.length} requests`);
  assert.equal(new Set(mutations.map(({ variables }) => variables.key)).size, mutations.length);
  assert.deepEqual(await truth(id, "tapper"), { likeCount: 0, viewerHasLiked: false });
});

test("taps within one moment are one request, or two", async () => {
  const id = await note();
  const { Recording, mutations } = recordingSockets();
  const { plaudit, screen } = open({ url: server.graphqlUrl, token: token("fast"), webSocket: Recording });
  await screen(id).waitFor(0, false);
  const outcomes = await Promise.all(Array.from({ length: 101 }, (_, tap) => plaudit.like(id, tap % 2 === 0)));
  assert.deepEqual(outcomes.at(-1), { state: "done" });
  assert.ok(mutations.length <= 2, `${mutations.length} requests`);
  assert.deepEqual(await truth(id, "fast"), { likeCount: 1, viewerHasLiked: true });
});

describe("of two tabs of one user", () => {
  test("an intent that is older than what the other tab did is dropped when the network is back", async () => {
    const [id, network, storage] = [await note(), await proxy(), sharedStorage()];
    const tab = (url) => open({ url, token: token("tabs"), keep: keepFor("tabs", storage) });
    const [away, here] = [tab(network.graphqlUrl), tab(server.graphqlUrl)];
    const [awayPage, herePage] = [away.screen(id), here.screen(id)];
    await awayPage.waitFor(0, false);
    await herePage.waitFor(0, false);
    network.cut();
    await eventually(() => away.plaudit.connection.state !== "open", "the end of the connection");
    const older = away.plaudit.like(id);
    await here.plaudit.like(id);
    await here.plaudit.like(id, false);
    network.restore();
    assert.deepEqual(await older, { state: "replaced" });
    for (const page of [awayPage, herePage]) await page.waitFor(0, false);
    assert.deepEqual(await truth(id, "tabs"), { likeCount: 0, viewerHasLiked: false });
  });

  test("both tap, and both end with what the server has", async () => {
    const id = await note();
    const tabs = [1, 2].map(() => open({ url: server.graphqlUrl, token: token("taps") }));
    const pages = tabs.map(({ screen }) => screen(id));
    await Promise.all(pages.map((page) => page.waitFor(0, false)));
    const taps = tabs.flatMap(({ plaudit }) => [true, false, true].map((on) => plaudit.like(id, on)));
    await Promise.all(taps);
    await Promise.all(pages.map((page) => page.waitFor(1, true)));
    assert.deepEqual(await truth(id, "taps"), { likeCount: 1, viewerHasLiked: true });
  });
});

test("a subscription names a trusted document, as Relay does with persisted ones", async () => {
  const folder = mkdtempSync(join(tmpdir(), "plaudit-documents-"));
  const documents = join(folder, "documents.json");
  const query = "subscription ($ids: [ID!]!) { noteCountsChanged(noteIds: $ids) { likeCount } }";
  writeFileSync(documents, JSON.stringify({ counts: query }));
  const trusting = new OwnServer(["--trusted-documents", documents]);
  try {
    await trusting.start();
    const id = await newNote({ url: trusting.graphqlUrl, bearer: trusting.bearer("author") });
    for (const options of [{}, { webSocket: null }]) {
      const { plaudit } = open({ url: trusting.graphqlUrl, ...options });
      const result = await new Promise((next, error) =>
        plaudit.subscribe({ documentId: "counts", variables: { ids: [id] } }, { next, error, complete() {} }),
      );
      assert.deepEqual(result.data, { noteCountsChanged: { likeCount: 0 } });
    }
  } finally {
    closeAll();
    await trusting.dispose();
    rmSync(folder, { recursive: true });
  }
});

test("of a server that limits rates, each like waits as long as it is asked to, and all are done", async () => {
  const limited = new OwnServer(["--rate-window", "2s", "--rate-user-writes", "3"]);
  await limited.start();
  try {
    const author = (at) => ({ url: limited.graphqlUrl, bearer: limited.bearer(`author.${at}`) });
    const ids = await Promise.all([1, 2, 3, 4, 5, 6, 7].map((at) => newNote(author(at))));
    const { Recording, mutations } = recordingSockets();
    const { plaudit } = open({ url: limited.graphqlUrl, token: limited.bearer("keen").slice(7), webSocket: Recording });
    const outcomes = await Promise.all(ids.map((id) => plaudit.like(id)));
    assert.deepEqual(outcomes, ids.map(() => ({ state: "done" })));
    assert.ok(mutations.length > ids.length, "some were limited");
    assert.ok(mutations.length <= 4 * ids.length, `${mutations.length} requests`);
  } finally {
    closeAll();
    await limited.dispose();
  }
});

test("with 50 subscriptions of the app open, likes are done, and each subscription goes on", async () => {
  const ids = (await notesWithKeys("places", 50)).map((key) => `note:${key}`);
  const { plaudit } = open({ url: server.graphqlUrl, token: token("full") });
  const counts = new Map();
  const refused = [];
  const query = "subscription ($id: ID!) { noteCountsChanged(noteIds: [$id]) { likeCount } }";
  for (const id of ids) {
    const next = ({ data }) => counts.set(id, data.noteCountsChanged.likeCount);
    plaudit.subscribe({ query, variables: { id } }, { next, error: (errors) => refused.push(...errors), complete() {} });
  }
  const allShow = (likes) => ids.every((id) => counts.get(id) === likes);
  await eventually(() => allShow(0), "all subscriptions");
  const liked = await Promise.all(ids.map((id) => plaudit.like(id)));
  assert.deepEqual(liked, ids.map(() => ({ state: "done" })));
  await eventually(() => allShow(1), "the likes");
  await Promise.all(ids.map((id) => like(id, as("full.other"))));
  await eventually(() => allShow(2), "the likes of another");
  assert.deepEqual(refused, []);
  assert.equal(plaudit.connection.reconnects, 0);
});

test("of a server whose sockets take one operation, forty likes are done, and the counts go on", async () => {
  const narrow = new OwnServer(["--socket-subscriptions", "1"]);
  await narrow.start();
  try {
    const keys = await notesWithKeys("narrow", 40, narrow);
    const { plaudit, screen } = open({ url: narrow.graphqlUrl, token: narrow.bearer("patient").slice(7) });
    const page = screen("note:narrow-0");
    await page.waitFor(0, false);
    const outcomes = await Promise.all(keys.map((key) => plaudit.like(`note:${key}`)));
    assert.deepEqual(outcomes, keys.map(() => ({ state: "done" })));
    await like("note:narrow-0", { url: narrow.graphqlUrl, bearer: narrow.bearer("other") });
    await page.waitFor(2, true);
    assert.equal(plaudit.connection.reconnects, 0);
  } finally {
    closeAll();
    await narrow.dispose();
  }
});

/** A storage with promises, as a phone has. */
function promising({ getItem, setItem } = sharedStorage()) {
  return { getItem: async (name) => getItem(name), setItem: async (name, text) => setItem(name, text) };
}

for (const [name, makeStorage] of [["", sharedStorage], [", also in a storage with promises", promising]]) {
  test(`a like that could not be sent outlasts a reload of the page${name}`, async () => {
    const [id, network, storage] = [await note(), await proxy(), makeStorage()];
    network.cut();
    const before = open({ url: network.graphqlUrl, token: token("reload"), keep: keepFor("reload", storage) });
    before.plaudit.like(id);
    before.plaudit.close();
    await new Promise(setImmediate); // a storage with promises has it in the next task
    const other = open({ url: server.graphqlUrl, token: token("nobody"), keep: keepFor("nobody", storage) });
    await other.screen(id).waitFor(0, false);
    const after = open({ url: server.graphqlUrl, token: token("reload"), keep: keepFor("reload", storage) });
    if (!name) assert.equal(after.plaudit.shown(id).own.like, true, "at once");
    await eventually(() => after.plaudit.shown(id).own.like, "what was kept");
    await after.screen(id).waitFor(1, true);
    await eventually(() => after.plaudit.shown(id).pending.length === 0, "the answer");
    assert.deepEqual(await truth(id, "reload"), { likeCount: 1, viewerHasLiked: true });
  });
}

test("a runtime without crypto, AbortSignal.timeout and structuredClone, as React Native, likes and watches", async (context) => {
  for (const [place, name] of [[globalThis, "crypto"], [AbortSignal, "timeout"], [globalThis, "structuredClone"]]) {
    const own = Object.getOwnPropertyDescriptor(place, name);
    Object.defineProperty(place, name, { value: undefined, configurable: true, writable: true });
    context.after(() => Object.defineProperty(place, name, own));
  }
  for (const [user, options] of [["native.socket", {}], ["native.stream", { webSocket: null }]]) {
    const id = await note();
    const { plaudit, screen, errors } = open({ url: server.graphqlUrl, token: token(user), ...options });
    const page = screen(id);
    await page.waitFor(0, false);
    assert.deepEqual(await plaudit.like(id), { state: "done" });
    await page.waitFor(1, true);
    assert.deepEqual(errors, []);
  }
});

describe("the token", () => {
  const lasting = (user, seconds, claims = {}) =>
    sign(server.secret, user, { iat: Math.floor(nowSeconds()), exp: Math.floor(nowSeconds()) + seconds, ...claims });

  test("that ends is replaced, and the page goes on", async () => {
    const id = await note();
    let given = 0;
    const { plaudit, screen, errors } = open({
      url: server.graphqlUrl,
      token: () => lasting("ending", ++given === 1 ? 2 : 600),
    });
    const page = screen(id);
    await page.waitFor(0, false);
    await eventually(() => plaudit.connection.reconnects === 1, "another connection");
    assert.match(plaudit.connection.lastClose, /^4403/);
    await plaudit.like(id);
    await page.waitFor(1, true);
    assert.equal(given, 2);
    assert.deepEqual(errors, []);
  });

  test("is renewed before it ends, and the page misses nothing", async () => {
    const id = await note();
    let given = 0;
    const now = performance.now.bind(performance);
    mock.method(performance, "now", () => now() * 0.999); // every timer ends before its time by this clock
    const { plaudit, screen, states } = open({ url: server.graphqlUrl, token: () => lasting("renewing", ++given === 1 ? 16 : 600) });
    const page = screen(id);
    await page.waitFor(0, false);
    await eventually(() => given === 2, "another token");
    await like(id, as("renewing.other"));
    await page.waitFor(1);
    await new Promise((resolve) => setTimeout(resolve, 4_000)); // the first token has ended
    await unlike(id, as("renewing.other"));
    await page.waitFor(0);
    assert.deepEqual([...new Set(states)], ["connecting", "open"]);
    assert.equal(plaudit.connection.reconnects, 0);
  });

  test("of a device whose clock is hours ahead or behind is asked for once", async () => {
    for (const hours of [3, -3]) {
      const id = await note();
      let given = 0;
      const { now } = Date;
      const clock = mock.method(Date, "now", () => now() + hours * HOUR_MS);
      const { plaudit, screen, errors } = open({
        url: server.graphqlUrl,
        token: () => lasting("clock", 600, { iat: undefined }) + (given++, ""),
      });
      const page = screen(id);
      await page.waitFor(0, false);
      await plaudit.like(id);
      await page.waitFor(1, true);
      await plaudit.like(id, false);
      assert.equal(given, 1);
      assert.deepEqual(errors, []);
      clock.mock.restore();
    }
  });

  test("that is refused is one error, and no storm", async () => {
    const [id, network] = [await note(), await proxy()];
    let asked = 0;
    const { plaudit, errors } = open({ url: network.graphqlUrl, token: () => sign("x".repeat(32), "refused", { exp: 2 ** 31 + asked++ }) });
    plaudit.counts(id).subscribe(() => {});
    await eventually(() => errors.length > 0, "an error");
    await new Promise((resolve) => setTimeout(resolve, 2_000)); // time for a storm
    assert.deepEqual(errors.map(({ code }) => code), ["TOKEN_REFUSED"]);
    assert.equal(asked, 2);
    assert.ok(network.connections <= 2, `${network.connections} connections`);
  });

  test("that an app cannot give is one error, and is asked for again", async () => {
    const id = await note();
    let isAway = true;
    const { plaudit, screen, errors } = open({
      url: server.graphqlUrl,
      token: () => (isAway ? Promise.reject(new Error("the app is away")) : token("tokenless")),
    });
    const page = screen(id);
    await eventually(() => errors.length > 0, "an error");
    isAway = false;
    await page.waitFor(0, false);
    assert.deepEqual(errors.map(({ code }) => code), ["TOKEN_FAILED"]);
    assert.equal(plaudit.connection.state, "open");
  });
});

describe("bad input", () => {
  test("a wrong address is one error, and no storm", async () => {
    let requests = 0;
    const other = createServer((_, response) => {
      requests += 1;
      response.writeHead(404, { "Content-Type": "text/html" }).end("<h1>No</h1>");
    });
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    const { plaudit, errors } = open({ url: `http://127.0.0.1:${other.address().port}/graphql` });
    plaudit.counts("note_1").subscribe(() => {});
    await eventually(() => errors.length > 0, "an error");
    await new Promise((resolve) => setTimeout(resolve, 2_000)); // time for a storm
    other.close();
    assert.deepEqual(errors.map(({ code }) => code), ["WRONG_URL"]);
    assert.ok(requests <= 3, `${requests} requests`);
  });

  test("an unknown key is one error of that object, and the others go on", async () => {
    const id = await note();
    const { plaudit, screen, errors } = open({ url: server.graphqlUrl, token: token("unknown") });
    for (let lookers = 0; lookers < 3; lookers += 1) plaudit.counts(["note:gone", id]).subscribe(() => {});
    await screen(id).waitFor(0, false);
    await eventually(() => errors.length > 0, "an error");
    assert.deepEqual(errors.map(({ code }) => code), ["NOT_FOUND"]);
    assert.equal(plaudit.shown("note:gone").error.code, "NOT_FOUND");
    const { state, error } = await plaudit.like("note:gone");
    assert.equal(`${state} ${error.code}`, "refused NOT_FOUND");
    assert.throws(() => plaudit.counts("post-1").subscribe(() => {}), { code: "BAD_REF" });
  });

  test("a like without a token is undone, with the reason", async () => {
    const id = await note();
    const { plaudit, screen } = open({ url: server.graphqlUrl });
    const page = screen(id);
    await page.waitFor(0);
    const settled = plaudit.like(id);
    assert.equal(page.latest.counts.likeCount, 1);
    const { state, error } = await settled;
    assert.equal(`${state} ${error.code}`, "refused UNAUTHENTICATED");
    await page.waitFor(0);
    assert.equal(page.latest.error.code, "UNAUTHENTICATED");
  });

  test("a server of another version is one error", async () => {
    const [id, network] = [await note(), await proxy()];
    // As if the server had never known `collectCount`.
    network.rewrite = (bytes) => Buffer.from(bytes.toString("latin1").replaceAll("collectCount", "collectCounx"), "latin1");
    const { plaudit, errors } = open({ url: network.graphqlUrl, token: token("version"), webSocket: null });
    plaudit.counts(id).subscribe(() => {});
    await eventually(() => errors.length > 0, "an error");
    assert.deepEqual(errors.map(({ code }) => code), ["OTHER_VERSION"]);
  });
});

// The last, because they end the server.
for (const [name, end] of [["killed", () => server.kill()], ["stopped", () => server.stop()]]) {
  test(`a like while the server is ${name} shows at once, and counts once when it is back`, async () => {
    const id = await note();
    const user = `while.${name}`;
    const { plaudit, screen } = open({ url: server.graphqlUrl, token: token(user) });
    const page = screen(id);
    await page.waitFor(0, false);
    const ended = end();
    const settled = plaudit.like(id);
    await page.waitFor(1, true);
    await ended;
    await server.start();
    assert.deepEqual(await settled, { state: "done" });
    await like(id, as(`${user}.other`));
    await page.waitFor(2, true);
    assert.deepEqual(await truth(id, user), { likeCount: 2, viewerHasLiked: true });
  });
}
