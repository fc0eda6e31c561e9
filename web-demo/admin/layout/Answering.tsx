import { useMonitorState } from "../metrics/useMonitor";
import { Mark } from "../ui/Mark";
import { time } from "../ui/format";
import styles from "./Answering.module.css";

/** The process that answers, its connection state, and the state of its dependencies. */
export function Answering() {
  const { state, dependencies, restartedAt } = useMonitorState();
  const isReady = dependencies?.every(({ ok }) => ok);
  return (
    <div className={styles.answering}>
      <p className={styles.whose}>
        Numbers of the one process that answers at <b>{location.host}</b>
        {restartedAt && `; it restarted, or another process answers, since ${time(restartedAt)}`}
      </p>
      <ul className={styles.states} aria-label="State of the process">
        <li>
          <Mark is={state === "live" ? "good" : state === "away" ? "bad" : "unknown"}>
            {state === "live" ? "Live" : "Reconnecting…"}
          </Mark>
        </li>
        {state !== "away" && (
          <>
            <li>
              <Mark is={isReady === undefined ? "unknown" : isReady ? "good" : "bad"}>
                {isReady ? "Ready" : "Not ready"}
              </Mark>
            </li>
            {dependencies?.map(({ name, ok, reason }) => (
              <li key={name} className={styles.dependency} title={reason ?? undefined}>
                <Mark is={ok ? "good" : "bad"}>{name}</Mark>
              </li>
            ))}
          </>
        )}
      </ul>
    </div>
  );
}
