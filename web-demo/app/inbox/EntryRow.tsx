import { AtSign, Heart, type LucideIcon, Mail, MessageCircle, UserRoundPlus } from "lucide-react";
import { memo } from "react";
import { Link } from "wouter";
import { type InboxEntryFragment, type InboxEntryKind } from "../../shared/api/generated";
import { Avatar } from "../../shared/ui/Avatar";
import { exactly } from "../../shared/ui/Count";
import { TimeAgo } from "../../shared/ui/TimeAgo";
import { FollowButton } from "../users/FollowButton";
import styles from "./EntryRow.module.css";

type Colour = "like" | "talk" | "brand";

/** The event as text that follows the name of an actor; `many`: of several, if that differs. */
const KINDS: Record<InboxEntryKind, { icon: LucideIcon; colour: Colour; text: string; many?: string }> = {
  NOTE_LIKED: { icon: Heart, colour: "like", text: "liked your note" },
  COMMENT_LIKED: { icon: Heart, colour: "like", text: "liked your comment" },
  FOLLOWED: { icon: UserRoundPlus, colour: "brand", text: "follows you", many: "follow you" },
  NOTE_COMMENTED: { icon: MessageCircle, colour: "talk", text: "commented on" },
  COMMENT_ANSWERED: { icon: MessageCircle, colour: "talk", text: "replied to you" },
  MENTIONED: { icon: AtSign, colour: "talk", text: "mentioned you" },
  MESSAGE_RECEIVED: { icon: Mail, colour: "brand", text: "wrote to you" },
};

/** An entry of the inbox, which links to its subject. */
export const EntryRow = memo(function EntryRow({ entry }: { entry: InboxEntryFragment }) {
  const { kind, actors, actorCount, createdAt } = entry;
  const { icon: Icon, colour, text, many = text } = KINDS[kind];
  const [actor, second] = actors;
  const isUnread = !entry.isRead;
  /** If so, the row links to the actor. */
  const isAboutPerson = entry.about?.__typename === "User";
  const name = actor?.name ?? "Somebody";
  return (
    <div className={styles.entry} data-unread={isUnread}>
      <span className={styles.who}>
        <Avatar name={name} size={44} />
        <span className={`${styles.kind} ${styles[colour]}`}>
          <Icon size={12} aria-hidden="true" />
        </span>
      </span>
      <div className={styles.what}>
        {isUnread && <span className="only-heard">Unread: </span>}
        {actor ? (
          <Link href={`/user/${actor.id}`} className={isAboutPerson ? styles.person : styles.name}>
            {name}
          </Link>
        ) : (
          <span className={styles.name}>{name}</span>
        )}{" "}
        <Others count={actorCount - 1} one={second?.name} />
        {actorCount > 1 ? many : text} <About entry={entry} />
        <div className={styles.when}>
          <TimeAgo at={createdAt} />
        </div>
      </div>
      {kind === "FOLLOWED" && actor && actorCount === 1 && <FollowButton user={actor} />}
    </div>
  );
});

/** Who else did it: a name if it is one, else how many. */
function Others({ count, one }: { count: number; one?: string }) {
  if (count < 1) return null;
  if (count === 1) return <>and {one ? <b>{one}</b> : "somebody else"} </>;
  return <>and {exactly(count)} others </>;
}

/** A link to the entry's subject; no link if it was removed or is the viewer. */
function About({ entry: { kind, about } }: { entry: InboxEntryFragment }) {
  switch (about?.__typename) {
    case "Note":
      return (
        <Link href={`/note/${about.id}`} className={styles.about}>
          {about.title ?? "your note"}
        </Link>
      );
    case "Comment":
      return (
        <>
          {kind === "NOTE_COMMENTED" && <b>{about.note?.title ?? "your note"}</b>}
          <Link href={`/note/${about.note?.id}#comments`} className={styles.comment}>
            {about.isRemoved ? "This comment was removed." : about.body || "A picture"}
          </Link>
        </>
      );
    case "User":
      return null;
    default:
      return <span className={styles.gone}>that was removed</span>;
  }
}
