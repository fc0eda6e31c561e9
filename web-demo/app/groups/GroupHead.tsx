import { Link } from "wouter";
import { type GroupQuery } from "../../shared/api/generated";
import { Count } from "../../shared/ui/Count";
import head from "../layout/Head.module.css";
import styles from "./GroupHead.module.css";
import { GroupMark } from "./GroupMark";
import { JoinButton } from "./JoinButton";
import { OwnGroup } from "./OwnGroup";

interface Props {
  group: NonNullable<GroupQuery["group"]>;
  /** Whether the viewer is its owner or a moderator. */
  mayManage: boolean;
}

/** Name, description and member count of a group, and what its owner may do with it. */
export function GroupHead({ group, mayManage }: Props) {
  return (
    <section className={head.head} aria-label="About">
      <div className={head.top}>
        <GroupMark name={group.name} size={76} />
        <div className={styles.actions}>
          {mayManage && <OwnGroup group={group} />}
          <JoinButton group={group} isMain />
        </div>
      </div>
      <h2>{group.name}</h2>
      {group.owner && (
        <p className={styles.owner}>
          by <Link href={`/user/${group.owner.id}`}>{group.owner.name}</Link>
        </p>
      )}
      {group.description && <p className={styles.description}>{group.description}</p>}
      <dl className={head.tiles}>
        <Tile name="Members" count={group.memberCount} />
        <Tile name="Notes" count={group.noteCount} />
        <Tile name="Featured" count={group.featuredNoteCount} />
      </dl>
    </section>
  );
}

function Tile({ name, count }: { name: string; count: number }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Count value={count} />
      </dd>
    </div>
  );
}
