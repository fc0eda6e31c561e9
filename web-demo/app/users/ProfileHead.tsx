import { Bookmark, CalendarDays, Coins, Heart, type LucideIcon, Pencil } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { type ProfileHeadFragment } from "../../shared/api/generated";
import { Avatar } from "../../shared/ui/Avatar";
import { Button } from "../../shared/ui/Button";
import { Count } from "../../shared/ui/Count";
import { useApi } from "../../shared/api/client";
import { ModerateUser } from "../../shared/moderation/ModerateUser";
import { EditProfile } from "./EditProfile";
import { FollowButton } from "./FollowButton";
import head from "../layout/Head.module.css";
import styles from "./ProfileHead.module.css";
import { useViewerId } from "../viewer/useViewerId";

const month = new Intl.DateTimeFormat("en", { month: "long", year: "numeric" });

/** The user's name and counts. */
export function ProfileHead({ user }: { user: ProfileHeadFragment }) {
  const isSelf = useViewerId() === user.id;
  const isModerator = useApi().session?.role === "moderator";
  const [isEditing, setEditing] = useState(false);
  return (
    <section className={head.head} aria-label="About">
      <div className={head.top}>
        <Avatar name={user.name} size={84} />
        {isSelf ? (
          <div className={styles.own}>
            <Button onClick={() => setEditing(true)}>
              <Pencil size={16} aria-hidden="true" /> Edit
            </Button>
            <Link href="/likes" className={styles.likes}>
              <Heart size={16} aria-hidden="true" /> My likes
            </Link>
          </div>
        ) : (
          <FollowButton user={user} isMain />
        )}
      </div>
      {isEditing && <EditProfile user={user} onClose={() => setEditing(false)} />}
      <h2>{user.name}</h2>
      <p className={styles.since}>
        <CalendarDays size={15} aria-hidden="true" />
        <span>
          Here since <time dateTime={user.createdAt}>{month.format(new Date(user.createdAt))}</time>
        </span>
      </p>
      {isModerator && !isSelf && (
        <div className={styles.moderate}>
          <ModerateUser user={user} />
        </div>
      )}
      <dl className={`${head.tiles} ${styles.received}`}>
        <Received icon={Heart} colour="like" name="Likes" count={user.likesReceivedCount} />
        <Received icon={Bookmark} colour="collect" name="Collects" count={user.collectsReceivedCount} />
        <Received icon={Coins} colour="coins" name="Coins" count={user.coinCount} />
      </dl>
    </section>
  );
}

interface ReceivedProps {
  icon: LucideIcon;
  colour: "like" | "collect" | "coins";
  name: string;
  count: number;
}

function Received({ icon: Icon, colour, name, count }: ReceivedProps) {
  return (
    <div>
      <dt>
        <Icon size={16} className={styles[colour]} aria-hidden="true" />
        {name}
        {colour !== "coins" && <span className="only-heard">received</span>}
      </dt>
      <dd>
        <Count value={count} />
      </dd>
    </div>
  );
}
