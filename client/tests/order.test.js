// Whatever the order in which replies, answers, stale ones and pushes come, and wherever a connection is lost: the version
// on the screen never falls, and the count ends right.

import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { createPlaudit } from "plaudit-client";
import "../dist/stream.js"; // so that it is there at once
import { ModelServer, randomFrom } from "./model_server.js";

const RUNS = Number(process.env.RUNS ?? 400);

/** The client waits at most so long for a connection, and then between attempts. */
const LONGEST_WAIT_S = 30;
const MOMENT_MS = 30;

/** Lets a moment pass, and what waits for nothing else happen. */
const settled = () => {
  mock.timers.tick(MOMENT_MS);
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
};

beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_700_000_000_000 }));
afterEach(() => {
  playing?.close();
  mock.reset();
});

let playing;

/** A client that watches the note of a model, by its id or the app's key; `screen` has what was shown, in order. */
function play(seed, ref = "note_1") {
  const random = randomFrom(seed);
  mock.method(Math, "random", random); // of the client's pauses
  const server = new ModelServer();
  const fetch = () => Promise.reject(new Error("the model has no HTTP"));
  const url = "http://model.test/graphql";
  const plaudit = createPlaudit({ url, token: () => "token", webSocket: server.WebSocket, fetch });
  playing?.close();
  playing = plaudit;
  const source = plaudit.counts(ref);
  const screen = [];
  source.subscribe(() => screen.push(source.current[0]));

  /** Lets time pass and everything happen until nothing is left; stale answers are asked for again without end. */
  async function rest() {
    const most = server.stale ? LONGEST_WAIT_S : Infinity;
    for (let idle = 0, seconds = 0; idle < LONGEST_WAIT_S && seconds < most; seconds += 1) {
      mock.timers.tick(1_000);
      await settled();
      if (server.steps.size === 0) idle += 1;
      else {
        idle = 0;
        server.step(random);
        await settled();
      }
    }
  }
  return { random, server, plaudit, screen, rest };
}

function assertNeverBack(screen, seed) {
  let highest = 0;
  for (const { countsVersion = 0 } of screen) {
    assert.ok(countsVersion >= highest, `seed ${seed}: version ${countsVersion} was shown after ${highest}`);
    highest = countsVersion;
  }
}

test("in every order of events, with lost connections and stale answers, the version never falls and the count ends right", async () => {
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const ref = seed % 2 ? "note_1" : "note:post-1";
    const { random, server, plaudit, screen, rest } = play(seed, ref);
    let wish = false;
    for (let moves = 0; moves < 40; moves += 1) {
      const move = random();
      if (move < 0.2) plaudit.like(ref, (wish = !wish));
      else if (move < 0.3) server.likeOfAnother();
      else if (move < 0.35) server.unlikeOfAnother();
      else if (move < 0.4) [...server.sockets][0]?.lose(move < 0.37 ? 1012 : 1006);
      else if (move < 0.45) server.stale = server.stale ? undefined : { ...server.note, ...(move < 0.42 && { countsVersion: 0, likeCount: 0 }) };
      else if (move < 0.52) mock.timers.tick(random() * 1_000);
      else if (server.steps.size > 0) server.step(random);
      await settled();
    }
    server.stale = undefined;
    await rest();
    const shown = plaudit.shown(ref);
    assertNeverBack(screen, seed);
    assert.equal(server.likers.has("viewer"), wish, `seed ${seed}: the last intent is what the server has`);
    assert.equal(shown.counts.likeCount, server.likers.size, `seed ${seed}`);
    assert.equal(shown.own.like, wish, `seed ${seed}`);
    assert.deepEqual(shown.pending, [], `seed ${seed}`);
  }
});

test("while everybody only likes, the number on the screen never falls, whatever comes first", async () => {
  for (let seed = 1; seed <= RUNS; seed += 1) {
    const { random, server, plaudit, screen, rest } = play(seed);
    await rest();
    let hasLiked = false;
    for (let moves = 0; moves < 25; moves += 1) {
      const move = random();
      if (move < 0.15 && !hasLiked) hasLiked = !!plaudit.like("note_1");
      else if (move < 0.3) server.likeOfAnother();
      else if (server.steps.size > 0) server.step(random);
      await settled();
    }
    await rest();
    let highest = 0;
    for (const { counts } of screen) {
      assert.ok((counts.likeCount ?? 0) >= highest, `seed ${seed}: ${counts.likeCount} was shown after ${highest}`);
      highest = counts.likeCount ?? 0;
    }
    assert.equal(plaudit.shown("note_1").counts.likeCount, server.likers.size, `seed ${seed}`);
  }
});

test("a hundred taps in a second are few requests, and the last one wins", async () => {
  const { random, server, plaudit, rest } = play(7);
  await rest();
  const before = server.requests;
  for (let tap = 1; tap <= 99; tap += 1) {
    plaudit.like("note_1", tap % 2 === 1);
    mock.timers.tick(10);
    await settled();
    if (tap % 10 === 0 && server.steps.size > 0) server.step(random);
  }
  await rest();
  assert.ok(server.requests - before <= 10, `${server.requests - before} requests`);
  assert.equal(server.likers.has("viewer"), true);
  assert.equal(plaudit.shown("note_1").counts.likeCount, 1);
});

test("what a page was rendered with, under the app's key, outlasts older and stale answers, and no newer one", async () => {
  const { server, plaudit, rest } = play(3, "note:post-1");
  plaudit.receive({ id: "note:post-1", countsVersion: 9, likeCount: 99, viewerHasLiked: true }, "note:post-1");
  const shown = () => plaudit.shown("note:post-1");
  server.stale = { ...server.note, countsVersion: 0, likeCount: 0 };
  await rest();
  assert.deepEqual([shown().countsVersion, shown().counts.likeCount, shown().own.like], [9, 99, true]);
  server.stale = undefined;
  await rest();
  assert.deepEqual([shown().countsVersion, shown().counts.likeCount, shown().own.like], [9, 99, false]);
  server.version = 9;
  server.likeOfAnother();
  await rest();
  assert.deepEqual([shown().id, shown().countsVersion, shown().counts.likeCount], ["note_1", 11, 1]);
  plaudit.receive({ id: "note_1", countsVersion: 9, likeCount: 99, viewerHasLiked: true }, "note:post-1");
  assert.deepEqual([shown().countsVersion, shown().counts.likeCount, shown().own.like], [11, 1, false]);
});

test("a server that stops (1012) is left for another at once, and one that goes on stopping after a growing pause", async () => {
  const { server, plaudit, rest } = play(5);
  await rest();
  /** Sockets that were opened after the end of one, while no time passes. */
  const openedAtOnce = async (code) => {
    [...server.sockets][0].lose(code);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    return server.sockets.size;
  };
  assert.equal(await openedAtOnce(1012), 1);
  assert.equal(plaudit.connection.state, "connecting");
  while (plaudit.connection.state !== "open") {
    server.step(() => 0);
    await settled();
  }
  server.likeOfAnother();
  assert.equal(await openedAtOnce(1012), 0, "it stops again within a moment");
  await rest();
  assert.equal(plaudit.shown("note_1").counts.likeCount, 1);
  assert.equal(await openedAtOnce(1006), 0, "one that was lost is left with a pause");
  await rest();
  assert.equal(plaudit.connection.reconnects, 3);
});
