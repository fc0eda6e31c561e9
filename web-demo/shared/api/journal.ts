/** A record of network traffic for the drawer: operations with their answers, and frames of the socket. */
export type Entry = OperationEntry | FrameEntry;

export interface OperationEntry {
  type: "operation";
  id: number;
  kind: "query" | "mutation" | "subscription";
  name: string;
  query: string;
  variables: Record<string, unknown>;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Milliseconds until the answer or the first event; undefined until then. */
  tookMs?: number;
  /** Of a subscription: messages so far. */
  events: number;
  error?: string;
  ended: boolean;
}

export interface FrameEntry {
  type: "frame";
  id: number;
  direction: "sent" | "received";
  at: number;
  /** Type of the message in the protocol graphql-transport-ws, or `open` and `close`. */
  message: string;
  /** The message as it was sent. */
  text: string;
}

/** Limits of the entries in memory; the oldest are dropped first. */
const MAX_OPERATIONS = 150;
const MAX_FRAMES = 300;

/**
 * Operations and frames in order of arrival; listeners are notified once per task. Each has its own list, so that many
 * frames do not displace operations.
 */
export class Journal {
  #operations: readonly OperationEntry[] = [];
  #frames: readonly FrameEntry[] = [];
  #listeners = new Set<() => void>();
  #nextId = 1;
  #isNotifying = false;

  get operations(): readonly OperationEntry[] {
    return this.#operations;
  }

  get frames(): readonly FrameEntry[] {
    return this.#frames;
  }

  nextId(): number {
    return this.#nextId++;
  }

  add(entry: Entry) {
    if (entry.type === "operation") this.#operations = [...this.#operations.slice(1 - MAX_OPERATIONS), entry];
    else this.#frames = [...this.#frames.slice(1 - MAX_FRAMES), entry];
    this.#notify();
  }

  /** Replaces the operation with that id, if the journal still has it. */
  change(id: number | undefined, by: (operation: OperationEntry) => OperationEntry) {
    if (id === undefined) return;
    this.#operations = this.#operations.map((entry) => (entry.id === id ? by(entry) : entry));
    this.#notify();
  }

  clear() {
    this.#operations = [];
    this.#frames = [];
    this.#notify();
  }

  listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #notify() {
    if (this.#isNotifying) return;
    this.#isNotifying = true;
    queueMicrotask(() => {
      this.#isNotifying = false;
      this.#listeners.forEach((listener) => listener());
    });
  }
}
