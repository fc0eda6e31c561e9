import { type Exposition, type Series, toNumber } from "./exposition";
import { type Bucket, quantile } from "./histogram";

/** The values at a time (milliseconds since 1970). */
export interface Reading {
  at: number;
  values: Exposition;
}

export type Labels = Record<string, string>;

/** The period of rates, in seconds: short enough to follow a storm, long enough not to flicker. */
const RATE_SECONDS = 3;
/** The period of quantiles, which need more samples, and of CPU time, in seconds. */
export const LONG_SECONDS = 30;
/** The longest period of an alert, in seconds: for so long one reading per minute is kept. */
const LONGEST_SECONDS = 15 * 60;
const MINUTE = 60_000;

/** The last readings of one process, the newest last, with rates and quantiles over them. */
export class Readings {
  constructor(private readonly all: readonly Reading[]) {}

  get at(): number {
    return this.#newest.at;
  }

  /** These and one more reading. After a restart counters are reset, so earlier readings are dropped. */
  with(reading: Reading): Readings {
    const kept = this.all.filter(({ at }, i) => {
      const age = reading.at - at;
      const isFirstOfMinute = Math.floor(at / MINUTE) !== Math.floor((this.all[i - 1]?.at ?? -1) / MINUTE);
      return age <= (LONG_SECONDS + 1) * 1000 || (isFirstOfMinute && age <= LONGEST_SECONDS * 1000 + MINUTE);
    });
    return new Readings([...kept, reading]);
  }

  /** Whether a counter is lower in `next`: another process answered, or this one restarted. */
  hasRestarted(next: Reading): boolean {
    for (const [series, value] of this.#newest.values) {
      if (series.name.endsWith("_total") && (next.values.get(series) ?? value) < value) return true;
    }
    return false;
  }

  /** The sum of a gauge or counter over all series with these labels; `undefined` when there are none. */
  value(name: string, labels: Labels = {}): number | undefined {
    const matches = this.#matching(name, labels);
    return matches.length === 0 ? undefined : sum(matches.map((series) => this.#newest.values.get(series)!));
  }

  /** Each series of this name. */
  each(name: string): { labels: Labels; value: number }[] {
    return this.#matching(name, {}).map((series) => ({ labels: series.labels, value: this.#newest.values.get(series)! }));
  }

  /** How much each counter of this name rose in so many seconds; since the process started, if no reading is that old. */
  rises(name: string, seconds: number): { labels: Labels; value: number }[] {
    const before = this.all.filter(({ at }) => at <= this.at - seconds * 1000).at(-1);
    return this.#matching(name, {}).map((series) => {
      const value = this.#newest.values.get(series)! - (before?.values.get(series) ?? 0);
      return { labels: series.labels, value };
    });
  }

  /** How much a counter rose per second recently; `undefined` if it does not exist or was read only once. */
  rate(name: string, labels: Labels = {}, seconds = RATE_SECONDS): number | undefined {
    const before = this.#ago(seconds);
    const matches = this.#matching(name, labels);
    if (matches.length === 0 || before === this.#newest) return undefined;
    const rise = sum(matches.map((series) => this.#riseOf(series, before)));
    return (rise * 1000) / (this.at - before.at);
  }

  /** The quantile `q` of the recent samples of a histogram, in its unit. */
  quantile(q: number, name: string, labels: Labels = {}): number | undefined {
    const before = this.#ago(LONG_SECONDS);
    const counts = new Map<number, number>();
    for (const series of this.#matching(`${name}_bucket`, labels)) {
      const le = toNumber(series.labels.le ?? "") ?? Infinity;
      counts.set(le, (counts.get(le) ?? 0) + this.#riseOf(series, before));
    }
    const buckets: Bucket[] = [...counts].map(([le, count]) => ({ le, count }));
    return quantile(q, buckets);
  }

  /** The values that a label has, in order. */
  values(name: string, label: string, labels: Labels = {}): string[] {
    const values = this.#matching(name, labels).flatMap((series) => series.labels[label] ?? []);
    return [...new Set(values)].sort(byNumberOrName);
  }

  get #newest(): Reading {
    return this.all.at(-1)!;
  }

  /** The newest reading that is at least `seconds` old, within half a second, or the oldest one. */
  #ago(seconds: number): Reading {
    const until = this.at - (seconds - 0.5) * 1000;
    return this.all.filter(({ at }) => at <= until).at(-1) ?? this.all[0]!;
  }

  /** A series without an earlier value started at 0. */
  #riseOf(series: Series, before: Reading): number {
    return (this.#newest.values.get(series) ?? 0) - (before.values.get(series) ?? 0);
  }

  #matching(name: string, labels: Labels): Series[] {
    const required = Object.entries(labels);
    return (this.#byName.get(name) ?? []).filter((series) =>
      required.every(([label, value]) => series.labels[label] === value),
    );
  }

  get #byName(): Map<string, Series[]> {
    this.#index ??= indexed(this.#newest.values);
    return this.#index;
  }

  #index?: Map<string, Series[]>;
}

function indexed(values: Exposition): Map<string, Series[]> {
  const byName = new Map<string, Series[]>();
  for (const series of values.keys()) {
    const same = byName.get(series.name);
    if (same) same.push(series);
    else byName.set(series.name, [series]);
  }
  return byName;
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);
const byNumberOrName = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true });
