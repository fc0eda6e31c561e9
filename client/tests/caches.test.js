// Caches of urql and Apollo Client: an older answer that comes last changes nothing, and an action shows at once.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ApolloClient, ApolloLink, InMemoryCache, Observable, gql } from "@apollo/client";
import { Client, gql as urqlGql } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { createPlaudit } from "plaudit-client";
import { newestLink, optimisticFor } from "plaudit-client/apollo";
import { intentsExchange, newestExchange, optimistic } from "plaudit-client/urql";
import { filter, map, pipe } from "wonka";

const QUERY = "query ($at: Int) { note(at: $at) { __typename id likeCount countsVersion viewerHasLiked } }";
const LIKE = "mutation ($noteId: ID!) { likeNote(input: { noteId: $noteId }) { changed note { id likeCount countsVersion viewerHasLiked } } }";

const noteAt = (version, likeCount) => ({ __typename: "Note", id: "note_1", likeCount, countsVersion: version, viewerHasLiked: false });
/** What a server answers: the later question gets the older counts. */
const ANSWERS = { 1: { note: noteAt(8, 12) }, 2: { note: noteAt(5, 9) }, 3: { note: noteAt(9, 4) } };

const answering = () => (operations) =>
  pipe(
    operations,
    filter(({ kind }) => kind === "query"),
    map((operation) => ({ operation, data: structuredClone(ANSWERS[operation.variables.at]), stale: false, hasNext: false })),
  );

test("urql: of two answers the higher version counts, also if the lower one comes last; a correction may fall", async () => {
  const client = new Client({ url: "http://nobody.test", exchanges: [cacheExchange({}), newestExchange(), answering] });
  const likes = async (at) => (await client.query(QUERY, { at }).toPromise()).data.note.likeCount;
  assert.equal(await likes(1), 12);
  assert.equal(await likes(2), 12);
  assert.equal(await likes(3), 4);
});

test("Apollo Client: of two answers the higher version counts, also if the lower one comes last; a correction may fall", async (context) => {
  const answers = new ApolloLink(({ variables }) => new Observable((observer) => {
    observer.next({ data: ANSWERS[variables.at] });
    observer.complete();
  }));
  const cloned = context.mock.method(globalThis, "structuredClone"); // which React Native has not
  const client = new ApolloClient({ cache: new InMemoryCache(), link: ApolloLink.from([newestLink(), answers]) });
  const likes = async (at) => (await client.query({ query: gql(QUERY), variables: { at } })).data.note.likeCount;
  assert.equal(await likes(1), 12);
  assert.equal(await likes(2), 12);
  assert.equal(await likes(3), 4);
  const { likeNote } = optimisticFor("likeNote", "note_1", client.cache);
  assert.deepEqual(likeNote.note, { __typename: "Note", id: "note_1", viewerHasLiked: true, likeCount: 5, countsVersion: 9 });
  assert.throws(() => optimisticFor("rateNote", "note_1", client.cache), TypeError);
  assert.equal(cloned.mock.callCount(), 0);
});

test("urql: a like shows at once, and stays while there is no network", async () => {
  const fetch = () => Promise.reject(new Error("no network"));
  const plaudit = createPlaudit({ url: "http://nobody.test/graphql", webSocket: null, fetch });
  const exchanges = [cacheExchange({ optimistic }), newestExchange(plaudit), intentsExchange(plaudit), answering];
  const client = new Client({ url: "http://nobody.test", exchanges });
  const shown = [];
  await client.query(QUERY, { at: 1 }).toPromise();
  client.query(QUERY, { at: 1 }).subscribe(({ data }) => shown.push(data.note));
  client.mutation(urqlGql(LIKE), { noteId: "note_1" }).subscribe(() => assert.fail("it was answered"));
  await new Promise(setImmediate); // the cache tells its readers in the next task
  assert.deepEqual(shown.at(-1), { ...noteAt(8, 13), viewerHasLiked: true });
  assert.deepEqual(plaudit.shown("note_1").pending, ["like"]);
  plaudit.close();
});
