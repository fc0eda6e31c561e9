import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { assertWellBehaved, developmentToken, launchBrowser, observe, openContext, send } from "./browser.js";
import {
  nextSignIn,
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

/** The like counts that were pushed, without repetitions in a row. */
function pushedLikeCounts(messages) {
  return messages
    .filter(({ type }) => type === "next")
    .map(({ payload }) => payload.data.noteCountsChanged.likeCount)
    .filter((count, i, counts) => count !== counts[i - 1]);
}

test("the page shows the feed, needs no other host and reports no error", async () => {
  const offences = observe(context);
  const page = await openGraphiQL(context);
  await page.getByRole("button", { name: "Show Documentation Explorer" }).click();
  await page.getByRole("link", { name: "Mutation" }).waitFor();
  await run(page);
  await waitForResult(page, /"title": "[^"]+"[^]*"likeCount": \d+/);

  assertWellBehaved(offences);
});

test("a like in one page moves the count in another by exactly one", async () => {
  const noteId = await unlikedNote();

  const watching = await openGraphiQL(context);
  const messages = receivedMessages(watching);
  await showOperation(watching, liveCounts(noteId));
  await run(watching);
  const [, shown] = await waitForResult(watching, /"likeCount": (\d+)/);
  const count = Number(shown);

  const acting = await openGraphiQL(context, like(noteId));
  await run(acting);
  await waitForResult(acting, /"changed": true/);
  await waitForResult(watching, new RegExp(`"likeCount": ${count + 1}\\b`));
  assert.deepEqual(pushedLikeCounts(messages), [count, count + 1]);

  await showOperation(acting, unlike(noteId));
  await run(acting);
  await waitForResult(acting, /"changed": true/);
  await waitForResult(watching, new RegExp(`"likeCount": ${count}\\b`));
  assert.deepEqual(pushedLikeCounts(messages), [count, count + 1, count]);
});

test("every subscription signs in with the headers of that moment", async () => {
  const page = await openGraphiQL(context, liveCounts(await unlikedNote()));

  const prefilled = nextSignIn(page);
  await run(page);
  assert.match((await prefilled).Authorization, /^Bearer \S+$/);
  await waitForResult(page, /"likeCount"/);
  await stop(page);

  const headers = { Authorization: `Bearer ${token}`, "X-Request-Source": "browser-test" };
  await setHeaders(page, headers);
  const edited = nextSignIn(page);
  await run(page);
  assert.deepEqual(await edited, headers);
});
