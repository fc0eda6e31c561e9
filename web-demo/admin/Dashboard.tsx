import styles from "./Dashboard.module.css";
import { useMonitored } from "./metrics/useMonitor";
import { Actions } from "./panels/Actions";
import { Attention } from "./panels/Attention";
import { Decisions } from "./panels/Decisions";
import { Live } from "./panels/Live";
import { Operations } from "./panels/Operations";
import { Overview } from "./panels/Overview";
import { Process } from "./panels/Process";
import { Shards } from "./panels/Shards";
import { Stores } from "./panels/Stores";
import { Truth } from "./panels/Truth";
import { Away } from "./layout/Away";

/** All numbers. While the server is away the last ones stay, greyed. */
export function Dashboard() {
  const { state, readings } = useMonitored();
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
            <Truth />
            <Decisions />
            <Process />
          </div>
        </div>
      )}
    </>
  );
}
