/** One WebSocket that speaks graphql-transport-ws. It ends once, and does not come back. */

import type { GraphQLProblem } from "./errors.js";

export interface Payload {
  readonly query?: string | undefined;
  /** Names a trusted document in place of `query`. */
  readonly documentId?: string | undefined;
  readonly variables?: Record<string, unknown> | undefined;
  readonly operationName?: string | undefined;
}

export interface Result<Data = any> {
  data?: Data | null;
  errors?: readonly GraphQLProblem[];
  extensions?: Record<string, unknown>;
}

/** Where results of an operation go. */
export interface Sink {
  next(result: Result): void;
  /** It was refused, or has failed; nothing follows. */
  error(errors: readonly GraphQLProblem[]): void;
  complete(): void;
}

/** A connection that carries operations, and ends once. */
export interface Link {
  isOpen(): boolean;
  start(id: string, payload: Payload, sink: Sink, isRequest: boolean): void;
  /** Ends an operation; the server does not answer. */
  stop(id: string): void;
  close(code?: number, reason?: string): void;
}

export interface Handlers {
  acknowledged(): void;
  closed(code: number, reason: string): void;
}

const PING_MS = 10_000;
/** The line is dead if nothing at all came for so long after a ping. */
const PONG_MS = 5_000;
/** A connection that is not acknowledged by then has failed. */
const OPEN_MS = 15_000;

/** Code of a connection that this side gave up. */
export const GIVEN_UP = 4499;
/** The server refused the token, or it has ended. */
export const REFUSED_TOKEN = 4403;
/** The server stops; another one answers, or the same one soon. */
export const RESTART = 1012;
/** Code of a connection to an address that is no Plaudit. */
export const NOT_PLAUDIT = 4404;

export function openSocket(
  Implementation: typeof WebSocket,
  url: string,
  token: string | undefined,
  { acknowledged, closed }: Handlers,
): Link {
  const socket = new Implementation(url, "graphql-transport-ws");
  const sinks = new Map<string, Sink>();
  let isOpen = false;
  let isEnded = false;
  let timer = setTimeout(() => close(GIVEN_UP, "no answer"), OPEN_MS);

  function send(type: string, members?: object) {
    if (isEnded || socket.readyState !== 1) return;
    socket.send(JSON.stringify({ type, ...members }));
  }

  function close(code = 1000, reason = "") {
    if (isEnded) return;
    isEnded = true;
    isOpen = false;
    clearTimeout(timer);
    // What this side may not send ended on the other.
    if (code === 1000 || code === GIVEN_UP) socket.close(code);
    closed(code, reason);
  }

  /** A network that is gone may close nothing: a ping without an answer tells. */
  function pingLater() {
    clearTimeout(timer);
    timer = setTimeout(() => {
      timer = setTimeout(() => close(GIVEN_UP, "dead line"), PONG_MS);
      send("ping");
    }, PING_MS);
  }

  function receive(text: string) {
    if (isEnded) return;
    const { type, id, payload } = JSON.parse(text);
    pingLater();
    if (type === "connection_ack") {
      isOpen = true;
      acknowledged();
    }
    if (type === "ping") send("pong", { payload });
    const sink = sinks.get(id);
    if (type === "next") sink?.next(payload);
    else if (sinks.delete(id)) {
      if (type === "error") sink!.error(payload);
      else sink!.complete();
    }
  }

  socket.onopen = () => send("connection_init", { payload: token ? { Authorization: `Bearer ${token}` } : {} });
  socket.onmessage = ({ data }) => receive(data as string);
  socket.onclose = ({ code, reason }) => close(code, reason);
  socket.onerror = () => {}; // a close follows

  return {
    isOpen: () => isOpen,
    start(id, payload, sink) {
      sinks.set(id, sink);
      // Members are named, as a payload may have getters.
      const { query, documentId, variables, operationName } = payload;
      send("subscribe", { id, payload: { query, documentId, variables, operationName } });
    },
    stop(id) {
      if (sinks.delete(id)) send("complete", { id });
    },
    close,
  };
}
