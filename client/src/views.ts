/** Views of notes: gathered, and sent together. */

import type { Ref } from "./entities.js";
import { problemOf } from "./errors.js";
import type { Line } from "./line.js";
import { growing } from "./pause.js";
import type { Listen } from "./plaudit.js";
import type { Tokens } from "./token.js";

/** The server's limit for one mutation. */
const MAX_IDS = 100;
/** Views are sent this many milliseconds after the first. */
const GATHER_MS = 2_000;
/** More are forgotten: a server that is away for long does not fill the page's memory. */
const MAX_WAITING = 1_000;
const MAX_ATTEMPTS = 5;

const RECORD = "mutation Seen($ids: [ID!]!) { recordViews(input: { noteIds: $ids }) { changed } }";

export type Views = ReturnType<typeof createViews>;

export function createViews(url: string, tokens: Tokens, fetch: typeof globalThis.fetch, line: Line, on: Listen) {
  const seen = new Set<Ref>();
  const waiting: Ref[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;

  const take = () => waiting.splice(0, MAX_IDS);
  const sendLater = (ms: number) => (timer ??= setTimeout(send, ms));

  async function send() {
    const ids = take();
    timer = undefined;
    if (waiting.length) sendLater(0);
    if (!ids.length) return;
    try {
      const { errors } = await line.request(RECORD, { ids });
      if (errors && problemOf(errors).isRetryable) throw errors;
      failures = 0;
    } catch {
      giveBack(ids);
    }
  }

  function giveBack(ids: Ref[]) {
    if (failures++ >= MAX_ATTEMPTS) return;
    waiting.push(...ids);
    sendLater(GATHER_MS + growing(failures));
  }

  /** The page goes, or may never come back: a request that outlives it. */
  function leave() {
    while (waiting.length) {
      const ids = take();
      const token = tokens.latest();
      const headers = { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
      const body = JSON.stringify({ query: RECORD, variables: { ids } });
      fetch(url, { method: "POST", headers, body, keepalive: true }).catch(() => giveBack(ids));
    }
  }

  on(globalThis, "pagehide", leave);
  on(globalThis.document, "visibilitychange", () => document.hidden && leave());

  return {
    /** Each note counts once per page; the server counts a viewer once within its window. */
    add(ref: Ref) {
      if (seen.has(ref) || waiting.length >= MAX_WAITING) return;
      seen.add(ref);
      waiting.push(ref);
      sendLater(GATHER_MS);
    },

    close() {
      leave();
      clearTimeout(timer);
    },
  };
}
