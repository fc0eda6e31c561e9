import { Avatar } from "../../shared/ui/Avatar";
import { ConnectionMark } from "../layout/ConnectionMark";
import { useDevelopmentUsers } from "../layout/useDevelopmentUsers";
import styles from "./Pane.module.css";

/** Who one side is, and a way to be somebody else. */
export function Who({ label, user, onSwitch }: { label: string; user: string; onSwitch: (user: string) => void }) {
  const users = useDevelopmentUsers().filter(({ role }) => role === "user");
  const subjects = new Set([user, ...users.map(({ subject }) => subject)]);
  return (
    <>
      <Avatar name={user} size={32} />
      <label className={styles.user}>
        <span className="only-heard">{label}</span>
        <select value={user} onChange={(event) => onSwitch(event.target.value)} disabled={users.length === 0}>
          {[...subjects].map((subject) => (
            <option key={subject}>{subject}</option>
          ))}
        </select>
      </label>
      <ConnectionMark />
    </>
  );
}
