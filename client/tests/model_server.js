// A model of the server for one note, behind the client's WebSocket. Every step of it (a mutation takes effect, a
// reply, an answer, a push, a lost connection) happens when the test says so, in any order that the real one allows.

/** Numbers from a seed, 0 to 1. */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class ModelServer {
  version = 1;
  likers = new Set();
  /** Steps that may happen next, in any order. */
  steps = new Set();
  sockets = new Set();
  requests = 0;
  /** What queries answer while a store is away: the note as it was, or with version 0. */
  stale;
  #results = new Map();
  #others = 0;

  /** The class of the client's WebSockets. */
  get WebSocket() {
    const server = this;
    return class {
      readyState = 0;
      subscriptions = new Map();
      constructor() {
        server.sockets.add(this);
        server.later(() => {
          if (this.readyState !== 0) return;
          this.readyState = 1;
          this.onopen();
        });
      }
      send(text) {
        if (this.readyState === 1) server.#receive(this, JSON.parse(text));
      }
      close(code) {
        this.lose(code);
      }
      lose(code = 1006) {
        if (this.readyState === 3) return;
        this.readyState = 3;
        server.sockets.delete(this);
        this.onclose({ code, reason: "" });
      }
      deliver(message) {
        if (this.readyState === 1) this.onmessage({ data: JSON.stringify(message) });
      }
    };
  }

  later(step) {
    this.steps.add(step);
  }

  /** Does one of the steps. */
  step(random) {
    const steps = [...this.steps];
    const step = steps[Math.floor(random() * steps.length)];
    this.steps.delete(step);
    step();
  }

  get note() {
    return {
      id: "note_1",
      __typename: "Note",
      countsVersion: this.version,
      likeCount: this.likers.size,
      viewerHasLiked: this.likers.has("viewer"),
    };
  }

  likeOfAnother() {
    this.#flip(`other ${this.#others++}`, true);
  }

  unlikeOfAnother() {
    const other = [...this.likers].find((liker) => liker !== "viewer");
    if (other) this.#flip(other, false);
  }

  #flip(liker, on) {
    if (this.likers.has(liker) === on) return false;
    if (on) this.likers.add(liker);
    else this.likers.delete(liker);
    this.version += 2;
    for (const socket of this.sockets) this.#push(socket);
    return true;
  }

  /** Within a subscription versions rise, and only the latest waits. */
  #push(socket) {
    for (const [id, state] of socket.subscriptions) {
      if (state.isWaiting) continue;
      state.isWaiting = true;
      this.later(() => {
        state.isWaiting = false;
        const { viewerHasLiked: _, ...counts } = this.note;
        if (socket.subscriptions.has(id)) socket.deliver({ id, type: "next", payload: { data: { noteCountsChanged: counts } } });
      });
    }
  }

  #receive(socket, { type, id, payload }) {
    if (type === "connection_init") this.later(() => socket.deliver({ type: "connection_ack" }));
    if (type === "ping") socket.deliver({ type: "pong" });
    if (type === "complete") socket.subscriptions.delete(id);
    if (type !== "subscribe") return;
    this.requests += 1;
    const { query, variables } = payload;
    if (query.startsWith("subscription")) {
      socket.subscriptions.set(id, {});
      return this.#push(socket);
    }
    const answer = (data, extensions) => {
      this.later(() => {
        socket.deliver({ id, type: "next", payload: { data, extensions } });
        socket.deliver({ id, type: "complete" });
      });
    };
    // What was received takes effect, also if the connection is lost meanwhile.
    if (query.startsWith("query")) this.later(() => answer({ nodes: [this.stale ?? this.note] }, { stale: !!this.stale }));
    else this.later(() => answer({ done: this.#switch(variables.key, query.includes("done: likeNote")) }));
  }

  /** The same key has the same result, once. */
  #switch(key, on) {
    if (!this.#results.has(key)) this.#results.set(key, this.#flip("viewer", on));
    return { changed: this.#results.get(key), note: this.note };
  }
}
