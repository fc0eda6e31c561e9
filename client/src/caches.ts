/** What a normalised cache needs: results whose counts never go back, and what an action will have done. */

import { type Action, type Type, TYPES, actionsOf, edgeOf, isCount, typenameOf } from "./entities.js";
import type { CountName, Counts, Newest } from "./versions.js";

type Counted = Record<string, unknown> & { __typename: string; id: string; countsVersion: number };

/**
 * Gives every object of a result the counts of the highest version that came. Objects need `__typename`, `id` and
 * `countsVersion`. A cache cannot do this by itself: it merges field by field, and sees no version of the object.
 */
export function keepNewest(newest: Newest, data: unknown, isStale = false): void {
  if (Array.isArray(data)) for (const one of data) keepNewest(newest, one, isStale);
  else if (typeof data === "object" && data !== null) {
    if (isCounted(data)) keepNewestOf(newest, data, isStale);
    for (const value of Object.values(data)) keepNewest(newest, value, isStale);
  }
}

function keepNewestOf(newest: Newest, object: Counted, isStale: boolean) {
  const counts: Counts = {};
  for (const field in object) if (isCount(field)) counts[field] = object[field] as number;
  const latest = newest.accept(object.id, object.countsVersion, counts, isStale);
  for (const field in counts) if (field in latest.counts) object[field] = latest.counts[field as CountName];
  object.countsVersion = latest.version;
}

const isCounted = (value: object): value is Counted =>
  "countsVersion" in value && "id" in value && "__typename" in value;

/** A mutation that switches an edge. */
export interface Switch {
  /** The mutation's field, such as `likeNote`. */
  readonly field: string;
  readonly action: Action;
  readonly typename: string;
  /** The payload's field with the object; followed by `Id`, the input's field with its id. */
  readonly type: Type;
  readonly flag: string;
  readonly count: string;
  readonly on: boolean;
}

/** All mutations that switch an edge. */
export const switches: readonly Switch[] = TYPES.flatMap((type) =>
  actionsOf(type).flatMap((action: Action) => {
    const { flag, count, on, off } = edgeOf(type, action);
    const typename = typenameOf(type);
    return [
      { field: on, action, typename, type, flag, count, on: true },
      { field: off, action, typename, type, flag, count, on: false },
    ];
  }),
);

/** The object as it will be after the mutation; the answer replaces it. */
export function predicted(it: Switch, id: string, isOn: unknown, count: unknown) {
  const step = isOn === it.on ? 0 : it.on ? 1 : -1;
  return { __typename: it.typename, id, [it.flag]: it.on, [it.count]: Math.max(0, Number(count ?? 0) + step) };
}
