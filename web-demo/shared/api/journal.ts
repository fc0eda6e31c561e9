/** What went over the wire, for the drawer: operations with their answers, and frames of the socket. */
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
  /** Until the answer, or the first event; undefined while it is awaited. */
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

/** Kept in memory, the oldest forgotten first. */
const MOST_ENTRIES = 300;

/** Entries in the order in which they came; listeners hear of changes once per task. */
export class Journal {
  #entries: readonly Entry[] = [];
  #listeners = new Set<() => void>();
  #nextId = 1;
  #told = false;

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  nextId(): number {
    return this.#nextId++;
  }

  add(entry: Entry) {
    this.#entries = [...this.#entries.slice(1 - MOST_ENTRIES), entry];
    this.#tell();
  }

  /** Replaces the operation of that id, if it is still kept. */
  change(id: number | undefined, by: (operation: OperationEntry) => OperationEntry) {
    if (id === undefined) return;
    this.#entries = this.#entries.map((entry) => (entry.id === id && entry.type === "operation" ? by(entry) : entry));
    this.#tell();
  }

  clear() {
    this.#entries = [];
    this.#tell();
  }

  listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #tell() {
    if (this.#told) return;
    this.#told = true;
    queueMicrotask(() => {
      this.#told = false;
      this.#listeners.forEach((listener) => listener());
    });
  }
}
