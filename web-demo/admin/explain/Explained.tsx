import { CircleAlert, CircleCheck, CircleDashed } from "lucide-react";
import { NOTHING } from "../ui/format";
import styles from "./explain.module.css";

/** The parts of `schema/explanation.json` that the verdict shows. All lists are shown as they are. */
export type Explanation = Record<string, unknown> & {
  entity: string;
  shard: number;
  exists: boolean;
  removedAt: string | null;
  redis: { error: string | null; version: number | null; isLoading: boolean };
  findings: { counter: string }[];
  isBusy: boolean;
  verdict: string[];
};
type Row = Record<string, unknown>;

const whole = new Intl.NumberFormat("en");
const moment = (at: string) => new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
/** The words of a name: “lastEvents” is “last events”. */
const words = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

function shown(name: string, value: unknown) {
  if (value == null) return NOTHING;
  if (typeof value === "number") return whole.format(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return /(^at|At)$/.test(name) ? moment(String(value)) : String(value);
}

/** The verdict first, then what it follows from. */
export function Explained({ of }: { of: Explanation }) {
  const wrong = new Set(of.findings.map(({ counter }) => counter));
  const lists = Object.entries(of).filter(([, part]) => Array.isArray(part) && part.length > 0 && typeof part[0] === "object");
  return (
    <>
      <Verdict of={of} />
      {lists.map(([name, rows]) => (
        <Table key={name} title={capital(words(name))} rows={rows as Row[]} isWrong={({ name }) => wrong.has(String(name))} />
      ))}
    </>
  );
}

function Verdict({ of }: { of: Explanation }) {
  const { error, isLoading, version } = of.redis;
  const is = of.findings.length > 0 ? "bad" : of.isBusy || error ? "unknown" : "good";
  const Icon = { bad: CircleAlert, unknown: CircleDashed, good: CircleCheck }[is];
  const state = of.removedAt ? `, removed ${moment(of.removedAt)}` : of.exists ? "" : ", never created";
  const redis = error ? "Redis not read" : isLoading ? "Redis is loading" : version ? `version ${version}` : "not in Redis";
  return (
    <div className={styles.verdict} data-is={is}>
      <Icon size={22} aria-hidden="true" />
      <div>
        <ul>
          {of.verdict.map((line) => (
            <li key={line}>{capital(line)}</li>
          ))}
        </ul>
        <p className={styles.soft}>
          {of.entity}
          {state} · shard {of.shard} · {redis}
        </p>
      </div>
    </div>
  );
}

/** A list of the document: its first part names each row. */
function Table({ title, rows, isWrong }: { title: string; rows: Row[]; isWrong: (row: Row) => boolean }) {
  const [first = "", ...others] = Object.keys(rows[0] ?? {});
  return (
    <section>
      <h3 className={styles.title}>{title}</h3>
      <div className={styles.scroll} tabIndex={0} role="group" aria-label={title}>
        <table className={styles.table}>
          <thead>
            <tr>
              {[first, ...others].map((name) => (
                <th key={name} scope="col">
                  {capital(words(name))}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index} data-bad={isWrong(row) || undefined}>
                <th scope="row">
                  {shown(first, row[first]).replaceAll("_", " ")}
                  {isWrong(row) && <span className={styles.wrong}>wrong</span>}
                </th>
                {others.map((name) => (
                  <td key={name}>{shown(name, row[name])}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
