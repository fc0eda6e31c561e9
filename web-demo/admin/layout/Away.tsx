import { CloudOff } from "lucide-react";
import { useMonitored } from "../metrics/useMonitor";
import { time } from "../ui/format";
import styles from "./Away.module.css";

/** Shown while the server does not answer, with the time since. */
export function Away() {
  const { since, readings } = useMonitored();
  return (
    <div role="alert" className={styles.away}>
      <CloudOff size={20} aria-hidden="true" />
      <p>
        <strong>The server has not answered since {since && time(since)}.</strong>{" "}
        {readings && "These are its last numbers. "}
        Reconnecting: it is asked again every second.
      </p>
    </div>
  );
}
