import { Avatar } from "../../shared/ui/Avatar";
import styles from "./GroupMark.module.css";

/** A group's initials in a square; users have a circle. */
export function GroupMark({ name, size }: { name: string; size: number }) {
  return (
    <span className={styles.mark}>
      <Avatar name={name} size={size} />
    </span>
  );
}
