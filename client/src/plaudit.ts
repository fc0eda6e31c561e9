/** The parts, put together. */

import type { Payload, Result, Sink } from "./connection.js";
import type { Outcome } from "./edge.js";
import type { Action, CountedObject, Ref } from "./entities.js";
import { type Shown, createEntities, show } from "./entity.js";
import type { PlauditError } from "./errors.js";
import { createIntents } from "./intents.js";
import type { Keep } from "./keep.js";
import { type ConnectionState, createLine } from "./line.js";
import { whileNear } from "./near.js";
import { type Token, type Tokens, createTokens } from "./token.js";
import type { Newest } from "./versions.js";
import type { Views } from "./views.js";
import { createWatching } from "./watching.js";

export interface PlauditOptions {
  /** Where GraphQL is served, such as `https://plaudit.example/graphql`; in a page, `/graphql` will do. */
  url: string;
  /** The viewer's token, or a function that gets one. It is called again when the token is about to end, or was refused. */
  token?: Token;
  /** `keepFor(user)`: actions that could not be sent yet outlast a reload. */
  keep?: Keep | undefined;
  /** Milliseconds after which an action that could not be sent is undone; by default a day. */
  maxAge?: number | undefined;
  /** Live events per second and object, 1 to 60; by default 5, as people do not read faster. */
  rate?: number | undefined;
  /** Told once of each thing that does not mend itself: a wrong address, a refused token, an unknown object. */
  onError?: ((error: PlauditError) => void) | undefined;
  /** Where the runtime has none; `null` does without WebSockets. */
  webSocket?: typeof WebSocket | null | undefined;
  fetch?: typeof globalThis.fetch | undefined;
}

/** Live objects, in the order in which they were asked for. */
export interface Source {
  /** As they are to be shown; the same array until something changes. */
  readonly current: readonly Shown[];
  /** Keeps them live and calls back after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void;
}

/** Listens until everything ends. Outside of a page there is nothing to listen to. */
export type Listen = (target: Partial<EventTarget> | undefined, type: string, listener: () => void) => void;

const DAY_MS = 86_400_000;
const RATE = 5;
/** A part that could not be loaded is tried again after so long. */
const AGAIN_MS = 10_000;

/** The connection of a page, or of a server, to Plaudit. */
export interface Plaudit {
  /**
   * Likes a note or a comment, or takes the like back. Shows at once; resolves when it is settled, and never rejects:
   * also what cannot be, as to like a user, is `refused`.
   */
  like(ref: Ref, on?: boolean): Promise<Outcome>;
  /** Puts a note into the viewer's collection, or takes it out. */
  collect(ref: Ref, on?: boolean): Promise<Outcome>;
  /** Follows a user, or stops. */
  follow(ref: Ref, on?: boolean): Promise<Outcome>;
  /** Joins a group, or leaves it. */
  join(ref: Ref, on?: boolean): Promise<Outcome>;
  /** One of the four, by its name. */
  act(action: Action, ref: Ref, on?: boolean): Promise<Outcome>;
  /** Live counts and own state of objects. All who look at an object share one source. */
  counts(refs: Ref | readonly Ref[]): Source;
  /** An object as it is to be shown now; it asks nobody. */
  shown(ref: Ref): Shown;
  /**
   * Watches objects while the element is near the screen, and calls back when that begins and after each change;
   * returns what ends it.
   */
  near(element: Element, refs: Ref | readonly Ref[], listener?: () => void): () => void;
  /**
   * The viewer saw a note. Views are gathered, and sent also when the page goes. The first one loads the part that does
   * so; a page that goes before that loses it.
   */
  seen(ref: Ref): void;
  /**
   * An object that came by another way, as with a page that was made on the server: `id`, `countsVersion`, counts and
   * `viewerHas…`. `ref` is the app's own key, if the page uses it. It replaces nothing newer.
   */
  receive(object: CountedObject, ref?: Ref): void;
  /** Any query or mutation over the same line. Rejects with `LOST` if the connection was lost before the answer. */
  request<Data = any>(query: string, variables?: Record<string, unknown>): Promise<Result<Data>>;
  /** Any subscription over the same line. It goes on over reconnections, lists and `events` from where they were. */
  subscribe(payload: Payload, sink: Sink): () => void;
  /** The latest versions that came, which the link and the exchange share. */
  readonly newest: Newest;
  /** The viewer's token for requests of the app's own: `fresh()`, and `refuse()` after a 401. */
  readonly tokens: Pick<Tokens, "fresh" | "refuse">;
  /** The state of the line, for display; the same object until it changes. */
  readonly connection: ConnectionState;
  /** Calls back when `connection` changes. */
  onConnection(listener: () => void): () => void;
  /** Ends everything. What could not be sent is kept, if `keep` is set. */
  close(): void;
}

/** Connects to Plaudit. Nothing is sent before something is asked for. */
export function createPlaudit(options: PlauditOptions): Plaudit {
  const { maxAge = DAY_MS, rate = RATE, onError = () => {}, webSocket = globalThis.WebSocket, keep } = options;
  const fetch: typeof globalThis.fetch = options.fetch ?? ((...parts) => globalThis.fetch(...parts));
  // A server that renders for a page asks nobody, so there any address will do.
  const url = new URL(options.url, globalThis.location?.href ?? "http://localhost").href.replace(/\/$/, "");
  const tokens = createTokens(options.token);
  const entities = createEntities();
  // Without a token there is no own state.
  const refresh = () => tokens.latest() && watching.refresh();
  const line = createLine({ url, tokens, fetch, WebSocket: webSocket, onError, onReopened: refresh });
  const intents = createIntents(entities, line, maxAge, keep);
  const watching = createWatching(entities, line, rate, onError);
  // Not all pages count views, so the part is loaded when it is needed.
  let views: Promise<Views> | undefined;
  const stops: (() => void)[] = [];

  function seen(ref: Ref) {
    views ??= import("./views.js").then(({ createViews }) => createViews(url, tokens, fetch, line, on));
    views.then(
      ({ add }) => add(ref),
      // Without a network a part cannot be loaded.
      () => {
        views = undefined;
        setTimeout(seen, AGAIN_MS, ref);
      },
    );
  }

  const act = (action: Action, ref: Ref, on = true) => intents.set(ref, action, on);
  const shown = (ref: Ref) => show(entities.of(ref));

  function look(ref: Ref, listener: () => void): () => void {
    const entity = entities.of(ref);
    entity.listeners.add(listener);
    const stop = watching.look(ref);
    return () => {
      // It may have become one with another meanwhile.
      for (const { listeners } of [entity, entities.of(ref)]) listeners.delete(listener);
      stop();
    };
  }

  function counts(refs: Ref | readonly Ref[]): Source {
    const all = typeof refs === "string" ? [refs] : refs;
    let current: readonly Shown[] = [];
    return {
      get current() {
        const now = all.map(shown);
        if (now.length !== current.length || now.some((one, at) => one !== current[at])) current = now;
        return current;
      },
      subscribe(listener) {
        const stops = all.map((ref) => look(ref, listener));
        return () => stops.forEach((stop) => stop());
      },
    };
  }

  const on: Listen = (target, type, listener) => {
    target?.addEventListener?.(type, listener);
    stops.push(() => target?.removeEventListener?.(type, listener));
  };

  // The device notices a change of the network before the socket does.
  on(globalThis, "offline", line.drop);
  on(globalThis, "online", line.wake);
  on(globalThis.document, "visibilitychange", () => document.hidden || refresh());

  return {
    like: (ref, on) => act("like", ref, on),
    collect: (ref, on) => act("collect", ref, on),
    follow: (ref, on) => act("follow", ref, on),
    join: (ref, on) => act("join", ref, on),
    act,
    counts,
    shown,
    near(element, refs, listener = () => {}) {
      const source = counts(refs);
      let stop: (() => void) | undefined;
      return whileNear(element, (isNear) => {
        if (!isNear) return (stop = void stop?.());
        stop ??= source.subscribe(listener);
        listener();
      });
    },
    seen,
    receive: (object, ref) => void entities.receive(object, { ref }),
    request: line.request,
    subscribe: line.subscribe,
    newest: entities.newest,
    tokens,
    get connection() {
      return line.connection();
    },
    onConnection: line.listen,
    close() {
      for (const stop of stops) stop();
      views?.then(({ close }) => close());
      watching.close();
      intents.close();
      line.close();
    },
  };
}
