import { useSyncExternalStore } from "react";
import { Bars } from "../storm/Bars";
import styles from "./Delays.module.css";
import { type Stopwatch } from "./Stopwatch";

/** Bars of the chart. */
const MAX_BARS = 20;

/** The measured delays until the other side showed a change. */
export function Delays({ stopwatch }: { stopwatch: Stopwatch }) {
  const delays = useSyncExternalStore(stopwatch.listen, () => stopwatch.delays);
  return (
    <section className={styles.delays} aria-labelledby="delays">
      <h2 id="delays">Delay</h2>
      <p className={styles.last} role="status">
        <strong>{milliseconds(delays.at(-1))}</strong> ms
      </p>
      <dl>
        <div>
          <dt>median</dt>
          <dd>{milliseconds(median(delays))}</dd>
        </div>
        <div>
          <dt>best</dt>
          <dd>{milliseconds(delays.length > 0 ? Math.min(...delays) : undefined)}</dd>
        </div>
      </dl>
      <Bars values={delays.slice(-MAX_BARS)} max={MAX_BARS} label={`Milliseconds of the last ${MAX_BARS}`} />
      <p className={styles.about}>
        From the click on one side (like, collect or follow) until the other side has drawn the new count.
      </p>
    </section>
  );
}

const milliseconds = (value: number | undefined) => (value === undefined ? "–" : Math.round(value));

function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
}
