// What the tests of all clients share: a note of their own, people who like it, and a look at what a client
// shows meanwhile.

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

const here = { url: graphqlUrl, bearer };

/** Sends a request by itself, without any of the clients under test. */
export async function ask(query, variables, { url, bearer } = here) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", authorization: bearer },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  assert.equal(errors, undefined, JSON.stringify(errors));
  return data;
}

/** The id of a new note. */
export async function newNote(server) {
  const input = { title: `Watched ${randomUUID()}`, body: "Text" };
  const query = "mutation ($input: CreateNoteInput!) { createNote(input: $input) { note { id } } }";
  return (await ask(query, { input }, server)).createNote.note.id;
}

const likeMutation = "mutation ($id: ID!) { likeNote(input: { noteId: $id }) { changed } }";

export async function like(id, server) {
  const { likeNote } = await ask(likeMutation, { id }, server);
  assert.ok(likeNote.changed);
}

export async function unlike(id, server) {
  const { unlikeNote } = await ask(likeMutation.replace("likeNote", "unlikeNote"), { id }, server);
  assert.ok(unlikeNote.changed);
}

/**
 * What a client shows of a note, one after the other. It must never go back to a count of before. An older version
 * with the same count is not seen: an answer and an event travel by different connections, so either may come first.
 */
export class Shown {
  #notes = [];
  #waiting = [];
  #failure;

  show(note) {
    if (!note) return;
    const { latest } = this;
    const isOlder = latest && note.countsVersion < latest.countsVersion && note.likeCount !== latest.likeCount;
    if (isOlder) this.fail(new Error(`${JSON.stringify(note)} came after ${JSON.stringify(latest)}`));
    this.#notes.push(note);
    this.#look();
  }

  fail(error) {
    this.#failure ??= error;
    this.#look();
  }

  get latest() {
    return this.#notes.at(-1);
  }

  /** Waits until the client shows so many likes. */
  likes(count, seconds = 240) {
    return new Promise((resolve, reject) => {
      const late = () => reject(new Error(`not ${count} likes in ${seconds} s, but ${JSON.stringify(this.latest)}`));
      const timer = setTimeout(late, seconds * 1000);
      this.#waiting.push(() => {
        const isDone = this.#failure || this.latest?.likeCount === count;
        if (!isDone) return true;
        clearTimeout(timer);
        this.#failure ? reject(this.#failure) : resolve(this.latest);
      });
      this.#look();
    });
  }

  #look() {
    this.#waiting = this.#waiting.filter((isStillWaiting) => isStillWaiting());
  }
}

/** Likes and takes back, in turn, while a client watches. */
export async function likeAndLook(shown, id) {
  await shown.likes(0);
  for (let round = 0; round < 3; round++) {
    await like(id);
    await shown.likes(1);
    await unlike(id);
    await shown.likes(0);
  }
}
