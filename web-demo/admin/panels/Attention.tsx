import { CircleCheck, TriangleAlert } from "lucide-react";
import { useMonitored } from "../metrics/useMonitor";
import styles from "./Attention.module.css";
import { alarms } from "./alarms";

/** All alarms in one place, announced to screen readers when they change. */
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
