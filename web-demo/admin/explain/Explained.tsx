import { CircleAlert, CircleCheck, CircleDashed } from "lucide-react";
import { type ReactNode } from "react";
import { type ExplainQuery } from "../../shared/api/generated";
import { NOTHING } from "../ui/format";
import styles from "./explain.module.css";

type Explanation = NonNullable<ExplainQuery["explain"]>;

const whole = new Intl.NumberFormat("en");
const number = (value: number | null | undefined) => (value == null ? NOTHING : whole.format(value));
const moment = (at: string) => new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** The verdict first, then what it follows from. */
export function Explained({ of }: { of: Explanation }) {
  return (
    <>
      <Verdict of={of} />
      <Counters of={of} />
      <Logs of={of} />
      {of.lastEvents.length > 0 && (
        <Lines title="Last events in the logs">
          {of.lastEvents.map(({ shard, offset, event, state }) => (
            <li key={`${shard} ${offset}`}>
              <code>
                {shard}/{offset}
              </code>
              {event} <span className={styles.soft}>{state.toLowerCase()}</span>
            </li>
          ))}
        </Lines>
      )}
      {of.waitingInvalidations.length > 0 && (
        <Lines title="Redis has not yet followed">
          {of.waitingInvalidations.map(({ reason, createdAt, dueAt }, index) => (
            <li key={index}>
              {reason}, since {moment(createdAt)} <span className={styles.soft}>due {moment(dueAt)}</span>
            </li>
          ))}
        </Lines>
      )}
      {of.lastRepairs.length > 0 && (
        <Lines title="Last repairs">
          {of.lastRepairs.map(({ what, counter, from, to, madeBy, madeAt }, index) => (
            <li key={index}>
              {what} {counter}: {number(from)} → {number(to)}{" "}
              <span className={styles.soft}>
                {moment(madeAt)}, {madeBy}
              </span>
            </li>
          ))}
        </Lines>
      )}
    </>
  );
}

function Verdict({ of }: { of: Explanation }) {
  const is = of.hasDrift ? "bad" : of.isBusy || !of.hasRedis ? "unknown" : "good";
  const Icon = { bad: CircleAlert, unknown: CircleDashed, good: CircleCheck }[is];
  const state = of.isPresent ? "" : of.removedAt ? `, removed ${moment(of.removedAt)}` : ", never created";
  const redis = !of.hasRedis ? "Redis not read" : of.isLoading ? "Redis is loading" : of.version ? `version ${of.version}` : "not in Redis";
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
          {of.objectId}
          {state} · shard {of.shard} · {redis}
        </p>
      </div>
    </div>
  );
}

function Counters({ of }: { of: Explanation }) {
  return (
    <Table head={["Counter", "Rows", "PostgreSQL", "Tail", "Redis"]}>
      {of.counters.map(({ name, rows, total, tail, redis, isRight }) => (
        <tr key={name} data-bad={!isRight || undefined}>
          <th scope="row">
            {name.replaceAll("_", " ")}
            {!isRight && <span className={styles.wrong}>wrong</span>}
          </th>
          <td>{number(rows)}</td>
          <td>{number(total)}</td>
          <td>{tail > 0 ? `+${number(tail)}` : number(tail)}</td>
          <td>{number(redis)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Logs({ of }: { of: Explanation }) {
  return (
    <Table className={styles.logs} head={["Log", "End", "Folded", "Persisted", "Retired", "Behind"]}>
      {of.logs.map(({ shard, owner, end, folded, persisted, retired, behind }) => (
        <tr key={shard}>
          <th scope="row">
            shard {shard} <span className={styles.soft}>{owner ?? "nobody leads it"}</span>
          </th>
          <td>{end ?? NOTHING}</td>
          <td>{folded ?? NOTHING}</td>
          <td>{persisted}</td>
          <td>{retired ?? NOTHING}</td>
          <td>{number(behind)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Table({ head, className = "", children }: { head: string[]; className?: string; children: ReactNode }) {
  return (
    <div className={styles.scroll} tabIndex={0} role="group" aria-label={head[0]}>
      <table className={`${styles.table} ${className}`}>
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

function Lines({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3 className={styles.title}>{title}</h3>
      <ul className={styles.lines}>{children}</ul>
    </section>
  );
}
