// What a page with plaudit-client shows of a note, in order. It fails if counts of an older version come back.

import { createHmac } from "node:crypto";
import { createPlaudit } from "plaudit-client";
import { WebSocket } from "./watching.js";

const WAIT_MS = 60_000;

/** Waits until it is true. */
export function eventually(isTrue, what) {
  const deadline = performance.now() + WAIT_MS;
  return new Promise((resolve, reject) => {
    const check = () => {
      if (isTrue()) resolve();
      else if (performance.now() > deadline) reject(new Error(`it did not happen: ${typeof what === "function" ? what() : what}`));
      else setTimeout(check, 20);
    };
    check();
  });
}

/** Clients of a test, with what they told; `closeAll` ends them. */
const clients = [];

export function open(options) {
  const errors = [];
  const states = [];
  const plaudit = createPlaudit({ webSocket: WebSocket, onError: (error) => errors.push(error), ...options });
  plaudit.onConnection(() => states.push(plaudit.connection.state));
  clients.push(plaudit);
  return { plaudit, errors, states, screen: (ref) => new Screen(plaudit, ref) };
}

export function closeAll() {
  for (const plaudit of clients.splice(0)) plaudit.close();
}

export class Screen {
  /** Went back to an older version. */
  failure;
  shown = [];

  constructor(plaudit, ref) {
    const source = plaudit.counts(ref);
    source.subscribe(() => {
      const [now] = source.current;
      const last = this.shown.at(-1);
      if (now.countsVersion < last?.countsVersion) this.failure = `${JSON.stringify(now)} came after ${JSON.stringify(last)}`;
      this.shown.push(now);
    });
  }

  get latest() {
    return this.shown.at(-1);
  }

  /** Waits until the page shows that number of likes, and that the viewer's is on. */
  async waitFor(likes, own) {
    const isThere = () => this.latest?.counts.likeCount === likes && (own === undefined || this.latest.own.like === own);
    await eventually(() => this.failure || isThere(), () => `${likes} likes; ${JSON.stringify(this.latest)}`);
    if (this.failure) throw new Error(this.failure);
  }
}

/** A token of that user, signed with the server's secret; `claims` as `{ iat, exp }`. */
export function sign(secret, sub, claims) {
  const part = (object) => Buffer.from(JSON.stringify(object)).toString("base64url");
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub, ...claims })}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

export const nowSeconds = () => Math.floor(performance.timeOrigin + performance.now()) / 1_000;

/** A `localStorage` that tabs share. */
export function sharedStorage() {
  const items = new Map();
  return { getItem: (key) => items.get(key) ?? null, setItem: (key, value) => items.set(key, value) };
}

/** The class of WebSockets, and the mutations that were sent by it. */
export function recordingSockets() {
  const mutations = [];
  class Recording extends WebSocket {
    send(text) {
      if (text.includes("mutation")) mutations.push(JSON.parse(text).payload);
      super.send(text);
    }
  }
  return { Recording, mutations };
}
