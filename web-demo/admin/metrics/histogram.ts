/** How many samples were at most `le`; the last has `le` = Infinity and counts all. */
export interface Bucket {
  le: number;
  count: number;
}

/**
 * The value below which the share `q` of the samples lies, as Prometheus' `histogram_quantile` estimates it: it
 * assumes that samples are evenly distributed within a bucket. Above the last finite bound it returns that bound;
 * without samples, `undefined`.
 */
export function quantile(q: number, buckets: readonly Bucket[]): number | undefined {
  const sorted = [...buckets].sort((a, b) => a.le - b.le);
  const total = sorted.at(-1)?.count ?? 0;
  if (total <= 0) return undefined;
  const rank = q * total;
  const at = sorted.findIndex(({ count }) => count >= rank);
  const { le, count } = sorted[at]!;
  const below = sorted[at - 1] ?? { le: 0, count: 0 };
  if (le === Infinity) return below.le;
  return below.le + ((le - below.le) * (rank - below.count)) / (count - below.count || 1);
}
