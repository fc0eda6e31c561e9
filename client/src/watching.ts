/** Keeps objects live while somebody looks: each is watched once, however many look. */

import { type Ref, type Type, TYPES, nodesDocument, watchDocument } from "./entities.js";
import { type Entities, type Entity, changed } from "./entity.js";
import { PlauditError, problemOf } from "./errors.js";
import type { Line } from "./line.js";
import { growing } from "./pause.js";

/** Objects that come near within this time are asked for together. */
const GATHER_MS = 20;
/** Who looks away and back, as a component that is made again, keeps the subscription. */
const LINGER_MS = 1_000;
/** The server's limit for a query and a subscription. */
const MAX_IDS = 100;
/** More subscriptions of a type are made one again. */
const MAX_GROUPS = 4;

interface Group {
  readonly type: Type;
  readonly ids: ReadonlySet<string>;
  stop: () => void;
}

export function createWatching(entities: Entities, line: Line, rate: number, onError: (error: PlauditError) => void) {
  /** How many look at each. */
  const looking = new Map<Ref, number>();
  const unread = new Set<Ref>();
  const groups = new Set<Group>();
  let reading: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;

  const isWatched = ({ id }: Entity) => [...groups].some(({ ids }) => ids.has(id));

  function read(refs: Iterable<Ref>, pause = GATHER_MS) {
    for (const ref of refs) unread.add(ref);
    reading ??= setTimeout(readNow, pause);
  }

  async function readNow() {
    const refs = [...unread].slice(0, MAX_IDS);
    for (const ref of refs) unread.delete(ref);
    reading = undefined;
    if (unread.size) read([]);
    if (!refs.length) return;
    const sentAt = entities.nextMoment();
    try {
      const { data, errors, extensions } = await line.request(nodesDocument(), { ids: refs });
      if (!data) throw problemOf(errors ?? []);
      failures = 0;
      const isStale = extensions?.stale === true;
      refs.forEach((ref, at) => {
        const object = data.nodes[at];
        if (object) entities.receive(object, { ref, sentAt, isStale });
        else fail(ref, new PlauditError("NOT_FOUND", `there is no ${ref}`));
      });
      watch();
      if (isStale) read(refs, growing(5));
    } catch (error) {
      const problem = error as PlauditError;
      if (problem.isRetryable) read(refs, (problem.retryAfter ?? 0) * 1_000 + growing(failures++));
      else for (const ref of refs) fail(ref, problem);
    }
  }

  /** Tells once per object. */
  function fail(ref: Ref, error: PlauditError) {
    const entity = entities.of(ref);
    if (entity.error?.code === error.code) return;
    entity.error = error;
    changed(entity);
    onError(error);
  }

  /** Subscribes to what is looked at and not watched yet. */
  function watch() {
    for (const type of TYPES) {
      const wanted = idsOf(type);
      const own = [...groups].filter((group) => group.type === type);
      const fresh = wanted.filter((id) => !own.some(({ ids }) => ids.has(id)));
      if (!fresh.length) continue;
      const isScattered = own.length >= MAX_GROUPS;
      const ids = isScattered ? wanted : fresh;
      for (let at = 0; at < ids.length; at += MAX_IDS) subscribe(type, ids.slice(at, at + MAX_IDS));
      if (isScattered) own.forEach(end);
    }
  }

  /** Of the objects that are looked at. */
  function idsOf(type: Type): string[] {
    const ids = new Set<string>();
    for (const [ref, lookers] of looking) {
      const entity = entities.of(ref);
      if (lookers && entity.type === type && entity.latest && !entity.error) ids.add(entity.id);
    }
    return [...ids];
  }

  function subscribe(type: Type, ids: string[]) {
    const group: Group = { type, ids: new Set(ids), stop() {} };
    groups.add(group);
    group.stop = line.subscribe(
      { query: watchDocument(type), variables: { ids, rate } },
      {
        next({ data }) {
          const object = data?.[`${type}CountsChanged`];
          if (object) entities.receive(object);
        },
        error(errors) {
          groups.delete(group);
          const problem = problemOf(errors);
          // One object that cannot be watched refuses all of the subscription. Halves find it in few subscriptions.
          const half = ids.length >> 1;
          if (problem.code === "NOT_FOUND" && half) for (const part of [ids.slice(0, half), ids.slice(half)]) subscribe(type, part);
          else for (const id of ids) fail(id, problem);
        },
        complete: () => groups.delete(group),
      },
    );
  }

  function end(group: Group) {
    groups.delete(group);
    group.stop();
  }

  function sweep() {
    for (const [ref, lookers] of looking) if (!lookers) looking.delete(ref);
    const wanted = new Set(TYPES.flatMap(idsOf));
    for (const group of groups) if (![...group.ids].some((id) => wanted.has(id))) end(group);
  }

  return {
    /** Watches an object until the returned function is called. */
    look(ref: Ref): () => void {
      const before = looking.get(ref) ?? 0;
      looking.set(ref, before + 1);
      if (!before && !isWatched(entities.of(ref))) read([ref]);
      let isLooking = 1;
      return () => {
        looking.set(ref, (looking.get(ref) ?? 0) - isLooking);
        isLooking = 0;
        setTimeout(sweep, LINGER_MS);
      };
    },

    /** Reads own state again, which no event brings: another device may have changed it. */
    refresh: () => read(looking.keys()),

    close() {
      clearTimeout(reading);
      unread.clear();
      looking.clear();
      sweep();
    },
  };
}
