import { CircleCheck, TriangleAlert } from "lucide-react";
import { useMonitored } from "../metrics/useMonitor";
import styles from "./Attention.module.css";
import { alarms } from "./alarms";

/** Whether somebody is needed, in one place. Heard when it changes. */
export function Attention() {
  const found = alarms(useMonitored());
  const isBad = found.length > 0;
  return (
    <div role="status" className={styles.attention} data-bad={isBad || undefined}>
      {isBad ? <TriangleAlert size={20} aria-hidden="true" /> : <CircleCheck size={20} aria-hidden="true" />}
      {isBad ? (
        <ul>
          {found.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      ) : (
        <p>All is well. Nobody is needed.</p>
      )}
    </div>
  );
}
