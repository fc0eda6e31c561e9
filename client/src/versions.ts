/** The rule by which counts never go back. */

/** Objects whose latest counts are remembered; the one that changed longest ago is forgotten first. */
const MAX_OBJECTS = 10_000;

/** The name of a count, such as `likeCount`. */
export type CountName = `${string}Count`;

/** Counts by their names. Only the average may be null, where nobody has rated. */
export interface Counts {
  [name: CountName]: number;
  ratingAverage?: number | null;
}

export interface Latest {
  readonly version: number;
  readonly counts: Readonly<Counts>;
}

/**
 * The latest counts of every object, whatever brought them: a cache, a query, a reply or a push. They use different
 * connections, so an older one may come last; `countsVersion` orders them.
 */
export class Newest {
  #latest = new Map<string, Latest>();

  /**
   * Counts that arrived; returns those to show. Equal versions have equal counts, of which this may be other fields. A
   * stale answer (its version may be older than what was shown before) counts only where nothing else is known.
   */
  accept(key: string, version: number, counts: Counts, isStale = false): Latest {
    const known = this.#latest.get(key);
    if (known && (isStale || version < known.version)) return known;
    const isSame = known?.version === version;
    const latest = { version, counts: isSame ? { ...known!.counts, ...counts } : counts };
    if (isStale) return latest;
    this.#latest.delete(key);
    this.#latest.set(key, latest);
    if (this.#latest.size > MAX_OBJECTS) this.#latest.delete(this.#latest.keys().next().value!);
    return latest;
  }
}
