import { CircleCheck, TriangleAlert } from "lucide-react";
import { useMonitorState } from "../metrics/useMonitor";
import styles from "./Attention.module.css";
import { alarms } from "./alarms";

/** All alarms in one place, announced to screen readers when they change. */
export function Attention() {
  const state = useMonitorState();
  const messages = alarms(state);
  const isBad = messages.length > 0;
  const ownsNone = state.readings?.values("plaudit_log_entries", "shard").length === 0;
  return (
    <div role="status" className={styles.attention} data-bad={isBad || undefined}>
      {isBad ? <TriangleAlert size={20} aria-hidden="true" /> : <CircleCheck size={20} aria-hidden="true" />}
      {isBad ? (
        <ul>
          {messages.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      ) : (
        <p>
          No alarms.
          {ownsNone && " This process owns no shard, so it does not see those of shards and of the webhook's lag."}
        </p>
      )}
    </div>
  );
}
