import { type ReactNode, memo } from "react";
import { Link } from "wouter";
import { type PersonRowFragment } from "../../shared/api/generated";
import { Avatar } from "../../shared/ui/Avatar";
import { Count } from "../../shared/ui/Count";
import { FollowButton } from "./FollowButton";
import styles from "./PersonRow.module.css";

interface Props {
  user: PersonRowFragment;
  isSelf: boolean;
  /** Buttons beside another user, if the viewer may manage the list. */
  tools?: (user: PersonRowFragment) => ReactNode;
}

/** A user in a list. The viewer's own row has no follow button. */
export const PersonRow = memo(function PersonRow({ user, isSelf, tools }: Props) {
  return (
    <div className={styles.person}>
      <Avatar name={user.name} size={44} />
      <div className={styles.who}>
        <Link href={`/user/${user.id}`} className={styles.name}>
          {user.name}
        </Link>
        <p className={styles.about}>
          <Count value={user.followerCount} /> {user.followerCount === 1 ? "follower" : "followers"}
        </p>
      </div>
      {isSelf ? <span className={styles.you}>You</span> : <FollowButton user={user} />}
      {!isSelf && tools?.(user)}
    </div>
  );
});
