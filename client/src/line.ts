/**
 * The line to the server. It opens with the first operation, comes back whenever it is lost, and moves to a new
 * connection before the token ends. Subscriptions go on over all of that.
 */

import {
  type Handlers,
  type Link,
  type Payload,
  type Result,
  type Sink,
  GIVEN_UP,
  NOT_PLAUDIT,
  REFUSED_TOKEN,
  RESTART,
  openSocket,
} from "./connection.js";
import { PlauditError, lost, problemOf } from "./errors.js";
import { createPause, growing, hopeless } from "./pause.js";
import { resumable } from "./resume.js";
import type { Tokens } from "./token.js";

/** The state of the line, for display. */
export interface ConnectionState {
  readonly state: "idle" | "connecting" | "open" | "waiting";
  /** How often it came back. */
  readonly reconnects: number;
  /** When it opened, in milliseconds since 1970. */
  readonly openSince?: number | undefined;
  /** Code and reason of the last end. */
  readonly lastClose?: string | undefined;
  /** Whether it does without WebSocket. */
  readonly isStream: boolean;
}

export interface LineOptions {
  url: string;
  tokens: Tokens;
  fetch: typeof globalThis.fetch;
  /** Nothing where there is none. */
  WebSocket: typeof WebSocket | null | undefined;
  onError(error: PlauditError): void;
  /** The line is open again. */
  onReopened(): void;
}

export type Line = ReturnType<typeof createLine>;

interface Operation {
  readonly payload: Payload;
  readonly sink: Sink;
  readonly isRequest: boolean;
  /** What it runs on now. */
  link?: Link | undefined;
  failures: number;
  /** It ran, and gave its place to a request. */
  isPaused?: boolean;
}

type Lost = [code: number, reason: string];

/** A line that was open for so long is taken for a good one: attempts are counted from 0 again. */
const GOOD_MS = 5_000;
/** A line without operations stays open for a moment, as the next page of an app needs it again. */
const IDLE_MS = 30_000;
/** A connection that was left behind may end its requests. */
const LEFT_MS = 5_000;
/** A subscription that gave its place to a request comes back after so long: others may follow the request. */
const PAUSE_S = 2;
/** So many WebSockets fail before the line tries without. */
const TRIES = 2;

export function createLine({ url, tokens, fetch, WebSocket, onError, onReopened }: LineOptions) {
  const operations = new Map<string, Operation>();
  const waiting = new Set<() => void>();
  const listeners = new Set<() => void>();
  const pause = createPause();
  let shown: ConnectionState = { state: "idle", reconnects: 0, isStream: false };
  let current: Link | undefined;
  let onLost: (...lost: Lost) => void = () => {};
  let isRunning = false;
  let isClosed = false;
  let hasOpened = false;
  /** Since the last attempt. */
  let wasOpen = false;
  let lastId = 0;
  let attempt = 0;
  /** Connections and tokens in a row that never opened. */
  let failures = 0;
  let refusals = 0;
  let isBlocked = !WebSocket;
  let hasHadSocket = false;
  /** Code of the error that the app was told last. */
  let told: string | undefined;
  let renewal: ReturnType<typeof setTimeout> | undefined;
  let idling: ReturnType<typeof setTimeout> | undefined;

  const isOpen = () => current?.isOpen() === true;
  const hasWork = () => operations.size + waiting.size > 0;

  function update(change: Partial<ConnectionState>) {
    shown = { ...shown, ...change };
    for (const listener of listeners) listener();
  }

  function add(operation: Operation): () => void {
    const id = `${++lastId}`;
    operations.set(id, operation);
    clearTimeout(idling);
    if (isOpen()) start(id, operation);
    else run();
    return () => {
      operation.link?.stop(id);
      remove(id);
    };
  }

  function remove(id: string) {
    operations.delete(id);
    clearTimeout(idling);
    if (!operations.size) idling = setTimeout(() => operations.size || current?.close(), IDLE_MS);
  }

  function start(id: string, operation: Operation) {
    const link = (operation.link = current!);
    const { payload, sink, isRequest } = operation;
    const ifCurrent =
      <Value>(use: (value: Value) => void) =>
      (value: Value) => {
        if (operation.link === link && operations.has(id)) use(value);
      };
    link.start(id, payload, {
      next: ifCurrent((result) => {
        operation.failures = 0;
        sink.next(result);
      }),
      error: ifCurrent((errors) => {
        const problem = problemOf(errors);
        const isFull = problem.code === "LIMIT_EXCEEDED";
        if (isFull && isRequest) return startInPlace(id, operation);
        const mayFit = isFull && (operation.isPaused || lastOf(link, true));
        if (!isRequest && (problem.isRetryable || mayFit)) return startLater(id, operation, problem.retryAfter);
        remove(id);
        sink.error(errors);
      }),
      complete: ifCurrent<void>(() => {
        remove(id);
        sink.complete();
      }),
    }, isRequest);
  }

  /** The youngest request or subscription that runs on a connection. */
  const lastOf = (link: Link, isRequest: boolean) =>
    [...operations].filter(([, operation]) => operation.link === link && operation.isRequest === isRequest).pop();

  /** A request for which a connection has no place takes that of a subscription, which loses nothing by a pause. */
  function startInPlace(id: string, operation: Operation) {
    const link = operation.link!;
    const last = link === current && lastOf(link, false);
    if (!last) return startLater(id, operation);
    link.stop(last[0]);
    last[1].isPaused = true;
    startLater(...last, PAUSE_S);
    start(id, operation);
  }

  /** Tries again what the server refused for now. */
  function startLater(id: string, operation: Operation, retryAfter = 0) {
    operation.link = undefined;
    const again = () => {
      if (operations.has(id) && !operation.link && isOpen()) start(id, operation);
    };
    setTimeout(again, retryAfter * 1_000 + growing(operation.failures++));
  }

  async function run() {
    if (isRunning) return;
    isRunning = true;
    while (!isClosed && hasWork()) {
      if (!current) update({ state: "connecting" });
      const [code, reason] = await connect();
      const ms = judge(code, reason);
      if (isClosed || !hasWork()) break;
      update({ state: ms ? "waiting" : "connecting", openSince: undefined, lastClose: `${code} ${reason}`.trim() });
      if (ms) await pause.wait(ms);
    }
    isRunning = false;
    update({ state: "idle", openSince: undefined });
  }

  /** Milliseconds until the next attempt. Tells the app what only it can mend, once. */
  function judge(code: number, reason: string): number {
    const hadOpened = wasOpen;
    wasOpen = false;
    if (code === REFUSED_TOKEN) tokens.refuse();
    if (hadOpened) {
      // A server that stops spreads its closes, so its clients need no pause; one that closes again gets no storm.
      const ms = code === RESTART && !attempt ? 0 : growing(attempt);
      attempt++;
      return ms;
    }
    failures++;
    // The first may have ended on the way.
    if (code === REFUSED_TOKEN && (refusals++ || !tokens.isRenewable)) return tell(new PlauditError("TOKEN_REFUSED", reason));
    if (code === NOT_PLAUDIT) return tell(new PlauditError("WRONG_URL", reason));
    return growing(attempt++);
  }

  function tell(error: PlauditError): number {
    if (told !== error.code) onError(error);
    told = error.code;
    return hopeless();
  }

  /** Opens a connection and resolves when the line is lost. */
  async function connect(): Promise<Lost> {
    let token: string | undefined;
    try {
      token = await tokens.fresh();
    } catch (error) {
      tell(error as PlauditError);
      return [GIVEN_UP, "no token"];
    }
    return new Promise((resolve) => {
      onLost = (...lost) => resolve(lost);
      if (isClosed) onLost(GIVEN_UP, "");
      // A renewal may have opened meanwhile.
      else if (!current) open(token);
    });
  }

  function open(token: string | undefined) {
    const isStream = isBlocked || (!hasHadSocket && failures % (TRIES + 1) === TRIES);
    let link: Link;
    let stable: ReturnType<typeof setTimeout>;
    const handlers: Handlers = {
      acknowledged() {
        stable = setTimeout(() => (attempt = 0), GOOD_MS);
        if (isStream) isBlocked = true;
        else hasHadSocket = true;
        take(link, isStream);
      },
      closed(...lost) {
        clearTimeout(stable);
        failRequests(link);
        if (current === link) current = undefined;
        else if (current) return renewLater(growing(4)); // one that was left behind, or a renewal that failed
        clearTimeout(renewal);
        onLost(...lost);
      },
    };
    if (!isStream) {
      link = openSocket(WebSocket!, `${url}/ws`.replace(/^http/, "ws"), token, handlers);
      return;
    }
    // Few need it, so it is loaded when it is needed.
    import("./stream.js").then(
      ({ openStream }) => (link = openStream(fetch, url, token, handlers)),
      () => onLost(GIVEN_UP, "no stream"),
    );
  }

  /** Makes a connection that is open the current one. What runs on the one before moves, except for requests. */
  function take(link: Link, isStream: boolean) {
    const before = current;
    current = link;
    wasOpen = true;
    failures = refusals = 0;
    told = undefined;
    for (const [id, operation] of operations) {
      if (operation.isRequest && operation.link) continue;
      operation.link?.stop(id);
      start(id, operation);
    }
    if (before) setTimeout(() => before.close(), LEFT_MS);
    else {
      const reconnects = shown.reconnects + Number(hasOpened);
      update({ state: "open", reconnects, openSince: Date.now(), isStream });
      if (hasOpened) onReopened();
      hasOpened = true;
    }
    renewLater();
    for (const resolve of waiting) resolve();
    waiting.clear();
  }

  /** Before the token ends, a second connection takes over, so that nothing is missed. */
  function renewLater(leastMs = 0) {
    clearTimeout(renewal);
    if (!tokens.isRenewable) return;
    const renew = async () => {
      if (tokens.renewIn() > 0) return renewLater(); // a timer may end a little early
      const token = await tokens.fresh().catch(() => undefined);
      if (!isOpen()) return;
      if (token) open(token);
      else renewLater(growing(4));
    };
    renewal = setTimeout(renew, Math.max(tokens.renewIn(), leastMs));
  }

  function failRequests(link: Link) {
    for (const [id, operation] of operations) {
      if (operation.link !== link) continue;
      operation.link = undefined;
      if (!operation.isRequest) continue;
      operations.delete(id);
      operation.sink.complete();
    }
  }

  /** Resolves when the line is open. */
  const opened = () =>
    new Promise<void>((resolve) => {
      if (isOpen()) return resolve();
      waiting.add(resolve);
      run();
    });

  return {
    connection: () => shown,
    opened,

    listen(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    /** Goes on over reconnections until it is stopped, or the server refuses it for good. */
    subscribe(payload: Payload, sink: Sink): () => void {
      const [resumed, received] = resumable(payload);
      const next = (result: Result) => {
        received(result);
        sink.next(result);
      };
      const { error, complete } = sink;
      return add({ payload: resumed, sink: { next, error: error.bind(sink), complete: complete.bind(sink) }, isRequest: false, failures: 0 });
    },

    /** The answer to a query or a mutation, with its errors. Rejects only if the connection is lost before. */
    async request(query: string, variables?: Record<string, unknown>): Promise<Result> {
      await opened();
      return new Promise((resolve, reject) => {
        const sink: Sink = { next: resolve, error: (errors) => resolve({ errors }), complete: () => reject(lost()) };
        add({ payload: { query, variables }, sink, isRequest: true, failures: 0 });
      });
    },

    /** The device says that it is offline. */
    drop: () => current?.close(GIVEN_UP, "offline"),

    /** Tries at once, as when the device is online again: the network may be another. */
    wake() {
      isBlocked = !WebSocket;
      pause.end();
    },

    close() {
      isClosed = true;
      operations.clear();
      waiting.clear();
      clearTimeout(renewal);
      clearTimeout(idling);
      pause.end();
      current?.close();
    },
  };
}
