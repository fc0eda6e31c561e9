/** Intents that outlast a reload, shared by the tabs of one user. */

import type { Action, Ref } from "./entities.js";

/** Where they are kept: as `localStorage`, or with promises, as AsyncStorage of React Native. */
export interface Storage {
  getItem(name: string): string | null | Promise<string | null>;
  setItem(name: string, text: string): void | Promise<unknown>;
}

export interface KeptIntent {
  readonly on: boolean;
  readonly key: string;
  readonly at: number;
  /** It is done: kept for a while, so that other tabs drop what is older. */
  readonly isSettled?: boolean;
}

export type KeptListener = (ref: Ref, action: Action, intent: KeptIntent) => void;

/** Keeps what could not be sent yet; see `keepFor`. */
export interface Keep {
  /** Calls back for each intent that waits, and for what another tab settles. */
  listen(waits: KeptListener, settled: KeptListener): void;
  /** Whether a newer intent of the same edge is known, from another tab. */
  isReplaced(ref: Ref, action: Action, intent: KeptIntent): boolean;
  /** Keeps an intent, and returns it, later than any that is known: also after the device's clock was set back. */
  put(ref: Ref, action: Action, intent: KeptIntent): KeptIntent;
  settle(ref: Ref, action: Action, intent: KeptIntent): void;
  remove(ref: Ref, action: Action, key: string): void;
  close(): void;
}

type All = Record<string, KeptIntent>;

const MAX_KEPT = 500;
/** The server forgets idempotency keys after a day. */
const MAX_AGE_MS = 86_400_000;

/**
 * For the option `keep`: actions that could not be sent yet outlast a reload, and tabs of one user know of each other's
 * by `localStorage`. `user` names the signed-in user, so that nobody sends what another one meant. Undefined where
 * nothing may be stored.
 */
export function keepFor(user: string, storage?: Storage): Keep | undefined {
  try {
    const name = `plaudit:${user}`;
    return keepIn(placeOf(storage ?? globalThis.localStorage, name), name);
  } catch {
    return undefined;
  }
}

/** What is kept, at once. */
interface Place {
  get(): string | null;
  set(text: string): void;
  /** Calls back when it is known what an earlier page kept. */
  whenKnown(then: (kept: All) => void): void;
}

function placeOf(storage: Storage, name: string): Place {
  const first = storage.getItem(name);
  if (typeof first !== "object" || !first) {
    const get = () => storage.getItem(name) as string | null;
    return { get, set: (text) => void storage.setItem(name, text), whenKnown: (then) => then(decode(get())) };
  }
  // With promises it is in memory, to which what was kept is added, and written one after the other.
  let text: string | null = null;
  const known = first
    .catch(() => null)
    .then((kept) => {
      const [before, since] = [decode(kept), decode(text)];
      text = JSON.stringify({ ...before, ...since });
      for (const edge in since) delete before[edge];
      return before;
    });
  let last: Promise<unknown> = known;
  return {
    get: () => text,
    set(changed) {
      text = changed;
      last = last.then(() => storage.setItem(name, text!)).catch(() => {});
    },
    whenKnown: (then) => void known.then(then),
  };
}

function keepIn(place: Place, name: string): Keep {
  let stop = () => {};
  const read = () => recent(decode(place.get()));

  function write(all: All) {
    const newest = Object.entries(all).sort(([, a], [, b]) => b.at - a.at);
    try {
      place.set(JSON.stringify(Object.fromEntries(newest.slice(0, MAX_KEPT))));
    } catch {
      // There is no room: it does not outlast a reload then.
    }
  }

  function change(ref: Ref, action: Action, by: (known: KeptIntent | undefined) => KeptIntent | undefined) {
    const all = read();
    const edge = `${action} ${ref}`;
    const intent = by(all[edge]);
    delete all[edge];
    if (intent) all[edge] = intent;
    write(all);
  }

  return {
    listen(waits, settled) {
      const receive = ({ key, oldValue, newValue }: StorageEvent) => {
        if (key !== name) return;
        const before = decode(oldValue);
        for (const [edge, intent] of Object.entries(decode(newValue))) {
          const isNew = before[edge]?.key !== intent.key || !before[edge].isSettled;
          if (intent.isSettled && isNew) settled(...parse(edge), intent);
        }
      };
      globalThis.addEventListener?.("storage", receive);
      stop = () => globalThis.removeEventListener?.("storage", receive);
      place.whenKnown((kept) => {
        for (const [edge, intent] of Object.entries(recent(kept))) if (!intent.isSettled) waits(...parse(edge), intent);
      });
    },

    isReplaced: (ref, action, { at }) => (read()[`${action} ${ref}`]?.at ?? 0) > at,

    put(ref, action, { on, key, at }) {
      let intent: KeptIntent;
      change(ref, action, (known) => (intent = { on, key, at: Math.max(at, (known?.at ?? 0) + 1) }));
      return intent!;
    },

    settle(ref, action, { on, key, at }) {
      change(ref, action, (known) => (known && known.at > at ? known : { on, key, at, isSettled: true }));
    },

    remove(ref, action, key) {
      change(ref, action, (known) => (known?.key === key ? undefined : known));
    },

    close: () => stop(),
  };
}

const recent = (all: All): All =>
  Object.fromEntries(Object.entries(all).filter(([, intent]) => Date.now() - intent?.at < MAX_AGE_MS));

function decode(text: string | null): All {
  try {
    return JSON.parse(text ?? "{}") ?? {};
  } catch {
    return {};
  }
}

function parse(edge: string): [Ref, Action] {
  const at = edge.indexOf(" ");
  return [edge.slice(at + 1), edge.slice(0, at) as Action];
}
