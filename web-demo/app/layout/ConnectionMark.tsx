import { useConnection } from "../../shared/api/client";
import styles from "./ConnectionMark.module.css";

const WORDS = { idle: "Not live", connecting: "Connecting…", open: "Live", waiting: "Reconnecting…" };

/** Shows whether counts are live. */
export function ConnectionMark() {
  const { state } = useConnection();
  return (
    <p className={styles.mark} role="status" data-state={state}>
      <i aria-hidden="true" />
      <span>{WORDS[state]}</span>
    </p>
  );
}
