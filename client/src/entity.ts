/** One live source per object: what is known of it, whatever brought it, and who looks. */

import { type Edge, guess, isOn, move, read } from "./edge.js";
import { type Action, type CountedObject, type Ref, type Type, actionsOf, edgeOf, isCount, typeOf } from "./entities.js";
import type { PlauditError } from "./errors.js";
import { type Counts, type Latest, Newest } from "./versions.js";

/** An object as it is to be shown. Counts have what the viewer did already. */
export interface Shown {
  /** As it was asked for, or the canonical id once it is known. */
  readonly id: string;
  readonly type: Type;
  /** Undefined until counts have come. */
  readonly countsVersion: number | undefined;
  readonly counts: Readonly<Counts>;
  /** What the viewer has on: `like`, `collect`, `follow`, `join`. Undefined until it is known, and without a token. */
  readonly own: Readonly<Partial<Record<Action, boolean>>>;
  /** Actions that wait for an answer. */
  readonly pending: readonly Action[];
  /** Why the object cannot be watched, or why the last action was undone. */
  readonly error: PlauditError | undefined;
}

export interface Entity {
  id: string;
  readonly type: Type;
  latest?: Latest | undefined;
  error?: PlauditError | undefined;
  readonly edges: Map<Action, Edge>;
  readonly listeners: Set<() => void>;
  /** The same object until something changes. */
  shown?: Shown | undefined;
}

export function changed(entity: Entity) {
  entity.shown = undefined;
  for (const listener of entity.listeners) listener();
}

export function show(entity: Entity): Shown {
  if (entity.shown) return entity.shown;
  const { id, type, latest, edges } = entity;
  const counts: Counts = { ...latest?.counts };
  const own: Partial<Record<Action, boolean>> = {};
  const pending: Action[] = [];
  let { error } = entity;
  for (const [action, edge] of edges) {
    const { count } = edgeOf(type, action);
    if (counts[count] != null) counts[count] = Math.max(0, counts[count] + guess(edge));
    const on = isOn(edge);
    if (on !== undefined) own[action] = on;
    if (edge.wish) pending.push(action);
    error ??= edge.error;
  }
  return (entity.shown = { id, type, countsVersion: latest?.version, counts, own, pending, error });
}

/** Takes counts in and tells the edges how theirs moved. */
function take({ type, edges, latest: before }: Entity, latest: Latest) {
  if (!before || latest.version <= before.version) return;
  for (const [action, edge] of edges) {
    const { count } = edgeOf(type, action);
    move(edge, (latest.counts[count] ?? 0) - (before.counts[count] ?? 0));
  }
}

export type Entities = ReturnType<typeof createEntities>;

export function createEntities() {
  const byRef = new Map<Ref, Entity>();
  const newest = new Newest();
  let moment = 0;

  function of(ref: Ref): Entity {
    const known = byRef.get(ref);
    if (known) return known;
    const type = typeOf(ref);
    const edges = new Map(actionsOf(type).map((action): [Action, Edge] => [action, { settledAt: 0 }]));
    const entity = { id: ref, type, edges, listeners: new Set<() => void>() };
    byRef.set(ref, entity);
    return entity;
  }

  /** The object with that id. One that was known by the app's key only gets the id from now on. */
  function named(id: string, ref: Ref): Entity {
    const entity = byRef.get(ref) ?? of(id);
    const other = byRef.get(id);
    // Counts that came under the app's key outweigh older ones that come under the id.
    if (entity.id !== id && entity.latest) newest.accept(id, entity.latest.version, entity.latest.counts);
    entity.id = id;
    byRef.set(ref, entity);
    byRef.set(id, entity);
    if (other && other !== entity) merge(other, entity);
    return entity;
  }

  /** Both names were used before it was known that they are the same. */
  function merge(from: Entity, into: Entity) {
    for (const [ref, entity] of byRef) if (entity === from) byRef.set(ref, into);
    for (const listener of from.listeners) into.listeners.add(listener);
    into.latest ??= from.latest;
    for (const [action, edge] of from.edges) {
      const own = into.edges.get(action)!;
      if (!own.wish && !own.flight && (edge.wish || own.own === undefined)) into.edges.set(action, edge);
    }
  }

  return {
    newest,
    of,

    /** Orders actions of this page and queries: a query that was sent before an action knows nothing of it. */
    nextMoment: () => ++moment,

    /**
     * An object that arrived. `ref` is what it was asked by, `sentAt` the moment of the question; own state in it
     * counts only with that, or where no action of this page is known. `taken` is called before anybody is told.
     */
    receive(object: CountedObject, { ref = object.id, sentAt = 0, isStale = false, taken }: Arrival = {}) {
      const entity = named(object.id, ref);
      const counts: Counts = {};
      for (const field in object) if (isCount(field)) counts[field] = object[field] as number;
      const latest = newest.accept(object.id, object.countsVersion, counts, isStale);
      take(entity, latest);
      entity.latest = latest;
      // A push has no own state, so an answer to a question may have the newest, with a lower version.
      const isOld = isStale || (sentAt === 0 && object.countsVersion < latest.version);
      for (const [action, edge] of entity.edges) {
        const flag = object[edgeOf(entity.type, action).flag];
        if (typeof flag === "boolean" && !(isOld && edge.own !== undefined)) read(edge, flag, sentAt);
      }
      entity.error = undefined;
      taken?.();
      changed(entity);
    },
  };
}

interface Arrival {
  ref?: Ref | undefined;
  sentAt?: number;
  isStale?: boolean;
  taken?: () => void;
}
