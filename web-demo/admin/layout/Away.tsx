import { CloudOff } from "lucide-react";
import { useMonitorState } from "../metrics/useMonitor";
import { time } from "../ui/format";
import styles from "./Away.module.css";

/** Shown while the server does not answer, with the time since. */
export function Away() {
  const { since, readings } = useMonitorState();
  return (
    <div role="alert" className={styles.away}>
      <CloudOff size={20} aria-hidden="true" />
      <p>
        <strong>The server has not answered since {since && time(since)}.</strong>{" "}
        {readings && "These are its last numbers. "}
        Retrying every second.
      </p>
    </div>
  );
}
