import type { Tokens } from "plaudit-client";
import { ExpositionReader } from "./exposition";
import { Readings } from "./readings";
import { type Moment, moment } from "./tracks";

const EVERY_MS = 1_000;
/** This queries the stores, so it is sent less often. */
const PROBE_EVERY_MS = 5_000;
/** Without a response after this time the server counts as unreachable. */
const TIMEOUT_MS = 5_000;
const HISTORY_MS = 10 * 60 * 1_000;

export interface Dependency {
  name: string;
  ok: boolean;
  reason: string | null;
}

/** The state of the process that answers. */
export interface MonitorState {
  /** `unauthenticated`: the token was refused; `forbidden`: it is not a moderator's. */
  state: "starting" | "live" | "away" | "unauthenticated" | "forbidden";
  /** While the server is unreachable: the time of its last response. */
  since?: number;
  readings?: Readings;
  /** The last ten minutes, the newest last. */
  history: readonly Moment[];
  /** When counters were reset, by a restart or because another process answers. */
  restartedAt?: number;
  /** The dependencies by `/status`; undefined if it does not answer here. */
  dependencies?: Dependency[];
}

/** Reads the metrics each second while the page is visible, and keeps ten minutes of them. */
export class Monitor {
  #state: MonitorState = { state: "starting", history: [] };
  #listeners = new Set<() => void>();
  #reader = new ExpositionReader();
  /** The metrics that were read last. The server renders them once a second for all who ask: the same text is no news. */
  #read = "";

  constructor(private readonly tokens: Pick<Tokens, "fresh">) {}

  get current(): MonitorState {
    return this.#state;
  }

  listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Runs until the returned function is called. */
  start(): () => void {
    const stopping = new AbortController();
    const { signal } = stopping;
    void repeat(EVERY_MS, signal, () => this.#measure(signal));
    void repeat(PROBE_EVERY_MS, signal, () => this.#probe(signal));
    return () => stopping.abort();
  }

  async #measure(signal: AbortSignal) {
    const headers = { Authorization: `Bearer ${await this.tokens.fresh()}` };
    const answer = await get("/admin/metrics", signal, headers);
    const text = answer?.ok ? await answer.text().catch(() => undefined) : undefined;
    if (signal.aborted) return;
    if (text !== undefined) this.#addReading(text);
    else if (answer?.status === 401) this.#update({ state: "unauthenticated" });
    else if (answer?.status === 403) this.#update({ state: "forbidden" });
    else this.#update({ state: "away", since: this.#state.readings?.at ?? this.#state.since ?? Date.now() });
  }

  #addReading(text: string) {
    const metrics = text.split("\nplaudit_account_", 1)[0] ?? text;
    if (metrics === this.#read && this.#state.state === "live") return;
    this.#read = metrics;
    const { readings = new Readings([]), history } = this.#state;
    const reading = { at: Date.now(), values: this.#reader.read(text) };
    const hasRestarted = this.#state.readings?.hasRestarted(reading);
    const now = (hasRestarted ? new Readings([]) : readings).with(reading);
    this.#update({
      state: "live",
      readings: now,
      history: [...history.filter(({ at }) => at > reading.at - HISTORY_MS), moment(now)],
      ...(hasRestarted && { restartedAt: reading.at }),
    });
  }

  /** `/status` answers 503 with the reasons while something is wrong. */
  async #probe(signal: AbortSignal) {
    const answer = await get("/status", signal);
    const readiness = await answer?.json().catch(() => undefined);
    if (!signal.aborted) this.#update({ dependencies: readiness?.dependencies });
  }

  #update(change: Partial<MonitorState>) {
    this.#state = { ...this.#state, ...change };
    this.#listeners.forEach((listener) => listener());
  }
}

const get = (url: string, signal: AbortSignal, headers?: Record<string, string>) =>
  fetch(url, { headers, signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) }).catch(() => undefined);

/** Repeats a task every `everyMs` milliseconds, from start to start, while the page is visible. */
async function repeat(everyMs: number, signal: AbortSignal, work: () => Promise<void>) {
  while (!signal.aborted) {
    const start = Date.now();
    await work();
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, everyMs - (Date.now() - start))));
    await visible();
  }
}

async function visible() {
  while (document.hidden) {
    await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
  }
}
