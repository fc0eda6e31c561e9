import { memo } from "react";
import { Link } from "wouter";
import { type GroupRowFragment } from "../../shared/api/generated";
import { Count } from "../../shared/ui/Count";
import { GroupMark } from "./GroupMark";
import styles from "./GroupRow.module.css";
import { JoinButton } from "./JoinButton";

/** A group in a list. */
export const GroupRow = memo(function GroupRow({ group }: { group: GroupRowFragment }) {
  return (
    <div className={styles.group}>
      <GroupMark name={group.name} size={48} />
      <div className={styles.what}>
        <Link href={`/group/${group.id}`} className={styles.name}>
          {group.name}
        </Link>
        <p className={styles.counts}>
          <Count value={group.memberCount} /> {group.memberCount === 1 ? "member" : "members"}
          {" · "}
          <Count value={group.noteCount} /> {group.noteCount === 1 ? "note" : "notes"}
        </p>
      </div>
      <JoinButton group={group} />
      {group.description && <p className={styles.description}>{group.description}</p>}
    </div>
  );
});
