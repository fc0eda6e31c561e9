// Helpers of all client tests: they create a note, like it, and check the counts that a client shows.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { WebSocket } from "ws";
import { graphqlUrl, token } from "./server.js";

export { WebSocket };
export const socketUrl = `${graphqlUrl.replace("http", "ws")}/ws`;
export const streamUrl = `${graphqlUrl}/stream`;
export const bearer = `Bearer ${token}`;

export const watchedQuery = /* GraphQL */ `
  query ($id: ID!) {
    note(id: $id) { __typename id title likeCount countsVersion }
  }
`;
export const watchSubscription = /* GraphQL */ `
  subscription ($id: ID!) {
    noteCountsChanged(noteIds: [$id]) { __typename id likeCount countsVersion }
  }
`;

const sharedServer = { url: graphqlUrl, bearer };

/** Sends a request with `fetch`, without the clients under test. */
export async function send(query, variables, { url, bearer } = sharedServer) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", authorization: bearer },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined, JSON.stringify(errors));
  return data;
}

/** Creates a note; returns its id. */
export async function newNote(server) {
  const input = { title: `Watched ${randomUUID()}`, body: "Text" };
  const query = "mutation ($input: CreateNoteInput!) { createNote(input: $input) { note { id } } }";
  return (await send(query, { input }, server)).createNote.note.id;
}

const likeMutation = "mutation ($id: ID!) { likeNote(input: { noteId: $id }) { changed } }";

export async function like(id, server) {
  const { likeNote } = await send(likeMutation, { id }, server);
  assert.ok(likeNote.changed);
}

export async function unlike(id, server) {
  const { unlikeNote } = await send(likeMutation.replace("likeNote", "unlikeNote"), { id }, server);
  assert.ok(unlikeNote.changed);
}

/**
 * The states of a note that a client shows, in order; it fails if the client goes back to an older count. An older
 * version with the same count is allowed: a response and an event use different connections, so either may come first.
 */
export class WatchedNote {
  #notes = [];
  #waiting = [];
  #failure;

  receive(note) {
    if (!note) return;
    const { latest } = this;
    const isOlder = latest && note.countsVersion < latest.countsVersion && note.likeCount !== latest.likeCount;
    if (isOlder) this.fail(new Error(`${JSON.stringify(note)} came after ${JSON.stringify(latest)}`));
    this.#notes.push(note);
    this.#checkWaiting();
  }

  fail(error) {
    this.#failure ??= error;
    this.#checkWaiting();
  }

  get latest() {
    return this.#notes.at(-1);
  }

  /** Waits until the client shows that number of likes. */
  waitForLikes(count, seconds = 240) {
    return new Promise((resolve, reject) => {
      const onTimeout = () => {
        const latest = JSON.stringify(this.latest);
        reject(new Error(`expected ${count} likes within ${seconds} s, got ${latest}`));
      };
      const timer = setTimeout(onTimeout, seconds * 1000);
      this.#waiting.push(() => {
        const isDone = this.#failure || this.latest?.likeCount === count;
        if (!isDone) return true;
        clearTimeout(timer);
        this.#failure ? reject(this.#failure) : resolve(this.latest);
      });
      this.#checkWaiting();
    });
  }

  #checkWaiting() {
    this.#waiting = this.#waiting.filter((isStillWaiting) => isStillWaiting());
  }
}

/** Likes and unlikes a note in turn and checks that the watching client follows. */
export async function checkLiveLikes(note, id) {
  await note.waitForLikes(0);
  for (let round = 0; round < 3; round++) {
    await like(id);
    await note.waitForLikes(1);
    await unlike(id);
    await note.waitForLikes(0);
  }
}
