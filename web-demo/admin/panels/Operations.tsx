import { useState } from "react";
import { errorsPerSecond } from "../metrics/tracks";
import { type Labels, type Readings } from "../metrics/readings";
import { useReadings } from "../metrics/useMonitor";
import { Button } from "../../shared/ui/Button";
import { Card } from "../ui/Card";
import { Tip } from "../ui/Tip";
import { Value } from "../ui/Value";
import { duration, perSecond } from "../ui/format";
import { ABOUT } from "./explained";
import styles from "./panels.module.css";

const INITIAL_ROWS = 10;
const COLUMNS = [
  ["Requests", ABOUT.requests],
  ["Errors", ABOUT.errors],
  ["p50", ABOUT.p50],
  ["p95", ABOUT.p95],
  ["p99", ABOUT.p99],
] as const;

/** Requests and errors by operation, the most frequent first. */
export function Operations() {
  const now = useReadings();
  const [all, setAll] = useState(false);
  const operations = byTotal(now);
  return (
    <Card title="Requests by operation" span={2}>
      <div className={styles.scroll} tabIndex={0} role="region" aria-label="Requests by operation, table">
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">
                Operation <Tip of={ABOUT.operation} />
              </th>
              {COLUMNS.map(([text, about]) => (
                <th key={text} scope="col">
                  {text} <Tip of={about} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {operations.slice(0, all ? undefined : INITIAL_ROWS).map(({ operation, kind }) => (
              <Operation key={`${kind} ${operation}`} labels={{ operation, kind }} />
            ))}
            {operations.length === 0 && (
              <tr>
                <td colSpan={6}>No requests yet.</td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
      {operations.length > INITIAL_ROWS && (
        <Button look="quiet" onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? "Fewer" : `All ${operations.length}`}
        </Button>
      )}
    </Card>
  );
}

function Operation({ labels }: { labels: { operation: string; kind: string } }) {
  const now = useReadings();
  const took = (q: number) => now.quantile(q, "plaudit_request_seconds", labels);
  const codes = errorCodes(now, labels);
  return (
    <tr>
      <th scope="row" title={codes || undefined}>
        {labels.operation} {labels.kind !== labels.operation && <span className={styles.soft}>{labels.kind}</span>}
        {codes && <span className={styles.codes}>{codes}</span>}
      </th>
      <td>
        <Value value={now.rate("plaudit_requests_total", labels)} format={perSecond("/s")} />
      </td>
      <td>
        <Value value={errorsPerSecond(now, labels)} format={perSecond("/s")} />
      </td>
      {[0.5, 0.95, 0.99].map((q) => (
        <td key={q}>
          <Value value={took(q)} format={duration} />
        </td>
      ))}
    </tr>
  );
}

/** The current errors of an operation. */
function errorCodes(now: Readings, labels: Labels): string {
  return now
    .values("plaudit_requests_total", "outcome", labels)
    .filter((outcome) => outcome !== "OK" && (now.rate("plaudit_requests_total", { ...labels, outcome }) ?? 0) > 0)
    .join(", ");
}

/** Sorted by requests since the start, so that rows seldom change places. */
function byTotal(now: Readings) {
  const total = (labels: Labels) => now.value("plaudit_requests_total", labels) ?? 0;
  return now
    .values("plaudit_requests_total", "kind")
    .flatMap((kind) =>
      now.values("plaudit_requests_total", "operation", { kind }).map((operation) => ({ kind, operation })),
    )
    .sort((a, b) => total(b) - total(a));
}
