/** Intents that outlast a reload, shared by the tabs of one user. */

import type { Action, Ref } from "./entities.js";

/** Where they are kept, as `localStorage` is. */
export type Storage = Pick<globalThis.Storage, "getItem" | "setItem">;

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
 * For the option `keep`: actions that could not be sent yet outlast a reload, and tabs of one user know of each other's.
 * `user` names the signed-in user, so that nobody sends what another one meant. Undefined where nothing may be stored.
 */
export function keepFor(user: string, storage?: Storage): Keep | undefined {
  try {
    const place = storage ?? globalThis.localStorage;
    place.getItem("");
    return keepIn(place, `plaudit:${user}`);
  } catch {
    return undefined;
  }
}

function keepIn(storage: Storage, place: string): Keep {
  let stop = () => {};

  function read(): All {
    const entries = Object.entries(decode(storage.getItem(place)));
    return Object.fromEntries(entries.filter(([, intent]) => Date.now() - intent?.at < MAX_AGE_MS));
  }

  function write(all: All) {
    const newest = Object.entries(all).sort(([, a], [, b]) => b.at - a.at);
    try {
      storage.setItem(place, JSON.stringify(Object.fromEntries(newest.slice(0, MAX_KEPT))));
    } catch {
      // There is no room: it does not outlast a reload then.
    }
  }

  function change(ref: Ref, action: Action, by: (known: KeptIntent | undefined) => KeptIntent | undefined) {
    const all = read();
    const name = `${action} ${ref}`;
    const intent = by(all[name]);
    delete all[name];
    if (intent) all[name] = intent;
    write(all);
  }

  return {
    listen(waits, settled) {
      const receive = ({ key, oldValue, newValue }: StorageEvent) => {
        if (key !== place) return;
        const before = decode(oldValue);
        for (const [name, intent] of Object.entries(decode(newValue))) {
          const isNew = before[name]?.key !== intent.key || !before[name].isSettled;
          if (intent.isSettled && isNew) settled(...parse(name), intent);
        }
      };
      globalThis.addEventListener?.("storage", receive);
      stop = () => globalThis.removeEventListener?.("storage", receive);
      for (const [name, intent] of Object.entries(read())) if (!intent.isSettled) waits(...parse(name), intent);
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

function decode(text: string | null): All {
  try {
    return JSON.parse(text ?? "{}") ?? {};
  } catch {
    return {};
  }
}

/** The edge of an intent, from its name. */
function parse(name: string): [Ref, Action] {
  const at = name.indexOf(" ");
  return [name.slice(at + 1), name.slice(0, at) as Action];
}
