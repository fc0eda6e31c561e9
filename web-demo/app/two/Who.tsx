import { ConnectionMark } from "../layout/ConnectionMark";
import { UserSwitch } from "../viewer/UserSwitch";
import styles from "./Pane.module.css";

/** The user of one side and the state of its connection. */
export function Who({ label, user, onSwitch }: { label: string; user: string; onSwitch: (user: string) => void }) {
  return (
    <>
      <UserSwitch label={label} user={user} className={styles.user} onSwitch={onSwitch} />
      <ConnectionMark />
    </>
  );
}
