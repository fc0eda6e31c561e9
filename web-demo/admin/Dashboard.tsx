import styles from "./Dashboard.module.css";
import { useMonitorState } from "./metrics/useMonitor";
import { Accounts } from "./panels/Accounts";
import { Actions } from "./panels/Actions";
import { Attention } from "./panels/Attention";
import { Decisions } from "./panels/Decisions";
import { Live } from "./panels/Live";
import { Operations } from "./panels/Operations";
import { Overview } from "./panels/Overview";
import { Process } from "./panels/Process";
import { Shards } from "./panels/Shards";
import { Stores } from "./panels/Stores";
import { Correctness } from "./panels/Correctness";
import { Away } from "./layout/Away";

/** All numbers. While the server is unreachable the last ones stay, greyed. */
export function Dashboard() {
  const { state, readings } = useMonitorState();
  return (
    <>
      {state === "away" && <Away />}
      {state === "starting" && !readings && <p role="status">Reading the first numbers…</p>}
      {readings && (
        <div className={styles.numbers} data-old={state === "away" || undefined}>
          {state !== "away" && <Attention />}
          <div className={styles.grid}>
            <Overview />
            <Operations />
            <Actions />
            <Shards />
            <Stores />
            <Live />
            <Correctness />
            <Decisions />
            <Process />
            <Accounts />
          </div>
        </div>
      )}
    </>
  );
}
