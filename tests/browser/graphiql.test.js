import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { assertNoProblems, developmentToken, launchBrowser, openContext, recordProblems, send } from "./browser.js";
import {
  nextConnectionInit,
  openGraphiQL,
  receivedMessages,
  run,
  setHeaders,
  showOperation,
  stop,
  waitForResult,
} from "./graphiql.js";

const liveCounts = (noteId) => ({
  query: `subscription LiveCounts($noteIds: [ID!]!) {
  noteCountsChanged(noteIds: $noteIds) { id likeCount countsVersion }
}`,
  variables: { noteIds: [noteId] },
});

const like = (noteId) => ({
  query: `mutation Like($noteId: ID!) {
  likeNote(input: { noteId: $noteId }) { changed note { id likeCount viewerHasLiked } }
}`,
  variables: { noteId },
});

const unlike = (noteId) => ({
  query: `mutation Unlike($noteId: ID!) {
  unlikeNote(input: { noteId: $noteId }) { changed note { id likeCount viewerHasLiked } }
}`,
  variables: { noteId },
});

let browser;
let context;
let token;

before(async () => {
  token = await developmentToken();
  browser = await launchBrowser();
});
after(() => browser?.close());

beforeEach(async () => {
  context = await openContext(browser);
});
afterEach(() => context?.close());

/** The id of a note that the development user has not liked. */
async function unlikedNote() {
  const { feed } = await send("{ feed(first: 20) { nodes { id viewerHasLiked } } }", token);
  const note = feed.nodes.find(({ viewerHasLiked }) => !viewerHasLiked);
  assert.ok(note, "the feed has a note that the development user has not liked");
  return note.id;
}

/** The like counts of the subscription's events, without consecutive repetitions. */
function pushedLikeCounts(messages) {
  return messages
    .filter(({ type }) => type === "next")
    .map(({ payload }) => payload.data.noteCountsChanged.likeCount)
    .filter((count, i, counts) => count !== counts[i - 1]);
}

test("the page shows the feed, requests nothing from other hosts and reports no error", async () => {
  const problems = recordProblems(context);
  const page = await openGraphiQL(context);
  await page.getByRole("button", { name: "Show Documentation Explorer" }).click();
  await page.getByRole("link", { name: "Mutation" }).waitFor();
  await run(page);
  await waitForResult(page, /"title": "[^"]+"[^]*"likeCount": \d+/);

  assertNoProblems(problems);
});

test("a like in one page changes the count in another by exactly one", async () => {
  const noteId = await unlikedNote();

  const watchingPage = await openGraphiQL(context);
  const messages = receivedMessages(watchingPage);
  await showOperation(watchingPage, liveCounts(noteId));
  await run(watchingPage);
  const [, text] = await waitForResult(watchingPage, /"likeCount": (\d+)/);
  const count = Number(text);

  const actingPage = await openGraphiQL(context, like(noteId));
  await run(actingPage);
  await waitForResult(actingPage, /"changed": true/);
  await waitForResult(watchingPage, new RegExp(`"likeCount": ${count + 1}\\b`));
  assert.deepEqual(pushedLikeCounts(messages), [count, count + 1]);

  await showOperation(actingPage, unlike(noteId));
  await run(actingPage);
  await waitForResult(actingPage, /"changed": true/);
  await waitForResult(watchingPage, new RegExp(`"likeCount": ${count}\\b`));
  assert.deepEqual(pushedLikeCounts(messages), [count, count + 1, count]);
});

test("every subscription signs in with the current headers", async () => {
  const page = await openGraphiQL(context, liveCounts(await unlikedNote()));

  const firstInit = nextConnectionInit(page);
  await run(page);
  assert.match((await firstInit).Authorization, /^Bearer \S+$/);
  await waitForResult(page, /"likeCount"/);
  await stop(page);

  const headers = { Authorization: `Bearer ${token}`, "X-Request-Source": "browser-test" };
  await setHeaders(page, headers);
  const secondInit = nextConnectionInit(page);
  await run(page);
  assert.deepEqual(await secondInit, headers);
});
