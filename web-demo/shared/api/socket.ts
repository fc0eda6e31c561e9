import { type Client, createClient } from "graphql-ws";
import { type TokenSource } from "../session";
import { type Journal } from "./journal";

/** Close code for a refused or expired token. */
const FORBIDDEN = 4403;
const PING_MS = 10_000;
/** Without a pong for this many milliseconds the connection is closed. */
const PONG_MS = 5_000;
const MAX_WAIT_MS = 10_000;

/** The state of the socket, for display. */
export interface Connection {
  state: "idle" | "connecting" | "open" | "waiting";
  /** The number of reconnections. */
  reconnects: number;
  /** When the socket opened, in milliseconds since 1970. */
  openSince?: number;
  /** Code and reason of the last close. */
  lastClose?: string;
}

/** The WebSocket of one session: opened by the first subscription, reopened without limit when it is lost. */
export class Socket {
  readonly client: Client;
  #connection: Connection = { state: "idle", reconnects: 0 };
  #listeners = new Set<() => void>();
  #wasOpen = false;
  #wake?: () => void;

  constructor(
    private readonly tokens: TokenSource | undefined,
    journal: Journal,
  ) {
    let pong: ReturnType<typeof setTimeout> | undefined;
    this.client = createClient({
      url: socketUrl(),
      webSocketImpl: recordingWebSocket(journal),
      connectionParams: async () => (tokens ? { Authorization: `Bearer ${await tokens.fresh()}` } : {}),
      keepAlive: PING_MS,
      retryAttempts: Infinity,
      // Also after a refused token: the next one is new.
      shouldRetry: () => true,
      retryWait: (retries) => this.#waitToRetry(retries),
      on: {
        connecting: () => this.#update({ state: "connecting" }),
        connected: () => this.#opened(),
        closed: (event) => this.#closed(event as CloseEvent),
        ping: (received) => {
          if (!received) pong = setTimeout(() => this.client.terminate(), PONG_MS);
        },
        pong: (received) => {
          if (received) clearTimeout(pong);
        },
      },
    });
    // The browser notices a change of the network before the socket does.
    window.addEventListener("offline", () => this.client.terminate());
    window.addEventListener("online", () => this.#wake?.());
  }

  get connection(): Connection {
    return this.#connection;
  }

  listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #update(change: Partial<Connection>) {
    this.#connection = { ...this.#connection, ...change };
    this.#listeners.forEach((listener) => listener());
  }

  #opened() {
    const reconnects = this.#connection.reconnects + (this.#wasOpen ? 1 : 0);
    this.#wasOpen = true;
    this.#update({ state: "open", reconnects, openSince: Date.now() });
  }

  #closed({ code, reason }: CloseEvent) {
    if (code === FORBIDDEN) this.tokens?.markRefused();
    const isIntended = code === 1000;
    this.#update({
      state: isIntended ? "idle" : "waiting",
      openSince: undefined,
      lastClose: [code, reason].filter(Boolean).join(" "),
    });
    if (isIntended) this.#wasOpen = false;
  }

  /** Exponential backoff with jitter; at once when the network is back. */
  async #waitToRetry(retries: number) {
    const longest = Math.min(250 * 2 ** retries, MAX_WAIT_MS);
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, longest * (0.5 + Math.random() / 2));
    });
    this.#wake = undefined;
  }
}

function socketUrl(): string {
  const url = new URL("/graphql/ws", location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

/** A WebSocket that writes its frames into the journal. */
function recordingWebSocket(journal: Journal): typeof WebSocket {
  const record = (direction: "sent" | "received", message: string, text: string) =>
    journal.add({ type: "frame", id: journal.nextId(), direction, at: Date.now(), message, text });

  return class extends WebSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols);
      this.addEventListener("open", () => record("received", "open", ""));
      this.addEventListener("close", ({ code, reason }) => record("received", "close", `${code} ${reason}`));
      this.addEventListener("message", ({ data }) => record("received", messageType(data), data));
    }

    override send(data: string) {
      // The token of `connection_init` is not recorded.
      const type = messageType(data);
      record("sent", type, type === "connection_init" ? '{"type":"connection_init","payload":…}' : data);
      super.send(data);
    }
  };
}

const messageType = (text: string): string => /"type":"(\w+)"/.exec(text)?.[1] ?? "?";
