/**
 * Intents of the viewer: that an edge shall be on, or off. They show at once. The latest wins; one request per edge
 * runs at a time; what cannot be sent now waits.
 */

import { type Edge, type Intent, type Outcome, end, include, read, settle } from "./edge.js";
import { type Action, type Ref, edgeOf, switchDocument, typeOf } from "./entities.js";
import { type Entities, type Entity, changed } from "./entity.js";
import { PlauditError, problemOf } from "./errors.js";
import type { Keep } from "./keep.js";
import type { Line } from "./line.js";
import { growing, wait } from "./pause.js";

const PACE_MS = 25;
/** So many requests run at once: a socket takes 50 operations, and subscriptions are among them. */
const MAX_SENT = 12;

export function createIntents(entities: Entities, line: Line, maxAge: number, keep: Keep | undefined) {
  const running = new Set<Edge>();
  let isClosed = false;
  let paced = Promise.resolve();
  /** Requests that run and that wait for their turn, which comes in their order. */
  let sent = 0;
  const turns: (() => void)[] = [];

  function make(ref: Ref, action: Action, intent: Omit<Intent, "ended">, ended: (outcome: Outcome) => void) {
    const entity = entities.of(ref);
    edgeOf(entity.type, action);
    const edge = entity.edges.get(action)!;
    end(edge, { state: "replaced" });
    edge.wish = { ...intent, ended };
    edge.error = undefined;
    changed(entity);
    if (!running.has(edge)) run(ref, action, edge);
  }

  async function run(ref: Ref, action: Action, edge: Edge) {
    running.add(edge);
    for (let attempt = 0; edge.wish && !isClosed; ) {
      await turn();
      const entity = entities.of(ref);
      let intent: Intent | undefined;
      let error: PlauditError | undefined;
      try {
        if (isDropped(ref, action, entity, edge)) continue;
        intent = edge.lost ?? edge.wish;
        error = await send(ref, action, entity, edge, intent);
      } finally {
        sent--;
        turns.shift()?.();
      }
      if (error?.isRetryable) {
        // A request that was limited was not done; any other may have been.
        if (error.code !== "RATE_LIMITED") edge.lost = intent;
        await wait((error.retryAfter ?? 0) * 1_000 + growing(attempt++));
        continue;
      }
      attempt = 0;
      edge.lost = undefined;
      if (error) refuse(ref, action, edge, intent, error);
      changed(entity);
    }
    running.delete(edge);
  }

  /** Many that waited for the line go one after the other: a socket takes 50 messages a second. */
  async function turn() {
    await new Promise<void>((go) => (sent++ < MAX_SENT ? go() : turns.push(go)));
    await line.opened();
    // One timer at a time: those of a busy page may end in another order.
    const before = paced;
    paced = before.then(() => wait(PACE_MS));
    return before;
  }

  /** An intent that nobody waits for any more is not sent. */
  function isDropped(ref: Ref, action: Action, entity: Entity, edge: Edge): boolean {
    const { wish } = edge;
    if (!wish) return true;
    if (keep?.isReplaced(ref, action, wish)) end(edge, { state: "replaced" });
    else if (Date.now() - wish.at > maxAge)
      refuse(ref, action, edge, wish, new PlauditError("TOO_OLD", "it waited too long"));
    else return false;
    edge.lost = undefined;
    changed(entity);
    return true;
  }

  /** Sends an intent and takes the answer in; returns the error. */
  async function send(ref: Ref, action: Action, entity: Entity, edge: Edge, intent: Intent) {
    const { type } = entity;
    edge.flight = intent;
    if (edge.lost !== intent) edge.since = entity.latest?.version;
    try {
      const variables = { id: ref, key: intent.key };
      const { data, errors } = await line.request(switchDocument(type, action, intent.on), variables);
      if (errors?.length) return problemOf(errors);
      const { changed, [type]: object } = data.done;
      const taken = () => {
        const isOn = (object[edgeOf(type, action).flag] as boolean | null) ?? intent.on;
        settle(edge, isOn, !changed || entity.latest?.version !== edge.since, entities.nextMoment());
        if (edge.wish === intent || edge.wish?.on === isOn) done(ref, action, edge);
      };
      entities.receive(object, { ref, taken });
    } catch (error) {
      return error as PlauditError;
    } finally {
      edge.flight = undefined;
    }
  }

  function done(ref: Ref, action: Action, edge: Edge) {
    keep?.settle(ref, action, edge.wish!);
    end(edge, { state: "done" });
  }

  function refuse(ref: Ref, action: Action, edge: Edge, intent: Intent, error: PlauditError) {
    include(edge, edge.own);
    keep?.remove(ref, action, intent.key);
    if (edge.wish === intent) {
      edge.error = error;
      end(edge, { state: "refused", error });
    } else if (edge.wish?.on === edge.own) done(ref, action, edge);
  }

  keep?.listen(
    // Sends what an earlier page could not.
    (ref, action, intent) => make(ref, action, intent, () => {}),
    // Another tab of the user acted.
    (ref, action, { on, at }) => {
      const entity = entities.of(ref);
      const edge = entity.edges.get(action)!;
      if (edge.wish && edge.wish.at > at) return;
      end(edge, { state: "replaced" });
      read(edge, on, entities.nextMoment());
      changed(entity);
    },
  );

  return {
    set: (ref: Ref, action: Action, on: boolean) =>
      new Promise<Outcome>((ended) => {
        try {
          edgeOf(typeOf(ref), action);
        } catch (error) {
          return ended({ state: "refused", error: error as PlauditError });
        }
        const made = { on, key: randomKey(), at: Date.now() };
        const intent = keep?.put(ref, action, made) ?? made;
        make(ref, action, intent, ended);
      }),

    close() {
      isClosed = true;
      keep?.close();
    },
  };
}

/**
 * 128 random bits. `crypto.randomUUID` exists in secure contexts only (https, localhost), and React Native has no
 * `crypto`: a key has to differ from the viewer's others, and is no secret.
 */
function randomKey(): string {
  const bytes = new Uint8Array(16);
  const random = globalThis.crypto?.getRandomValues?.(bytes) ?? bytes.map(() => Math.random() * 256);
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
