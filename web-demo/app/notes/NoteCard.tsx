import { Star } from "lucide-react";
import { type ReactNode, memo, useId, useRef } from "react";
import { Link } from "wouter";
import { type NoteCardFragment } from "../../shared/api/generated";
import { Avatar } from "../../shared/ui/Avatar";
import { TimeAgo } from "../../shared/ui/TimeAgo";
import { NoteActions } from "./NoteActions";
import styles from "./NoteCard.module.css";
import { ReviewState } from "../review/ReviewState";
import { useDecisions } from "../review/useDecisions";
import { useRecordView } from "./useRecordView";

const NONE: string[] = [];

interface Props {
  note: NoteCardFragment;
  /** Buttons on the note, if the viewer may manage the list. */
  tools?: (note: NoteCardFragment) => ReactNode;
}

/** A note in a list. */
export const NoteCard = memo(function NoteCard({ note, tools }: Props) {
  const card = useRef<HTMLElement>(null);
  const title = useId();
  useRecordView(card, note.id);
  useDecisions("notes", note.state === "PENDING" ? [note.id] : NONE);
  return (
    <article ref={card} className={styles.card} aria-labelledby={title} data-note={note.id}>
      <div className={styles.head}>
        <Byline note={note} />
        {tools?.(note)}
      </div>
      <Link href={`/note/${note.id}`} className={styles.text}>
        <h2 id={title}>{note.title ?? "Untitled"}</h2>
        {note.body && <p>{note.body}</p>}
      </Link>
      {note.state === "APPROVED" ? <NoteActions note={note} /> : <ReviewState of={note} />}
    </article>
  );
});

/** Author, time and group of a note. */
export function Byline({ note: { author, createdAt, editedAt, group, isFeatured } }: { note: NoteCardFragment }) {
  const name = author?.name ?? "Somebody";
  return (
    <div className={styles.byline}>
      <Avatar name={name} />
      <div>
        {author ? (
          <Link href={`/user/${author.id}`} className={styles.author}>
            {name}
          </Link>
        ) : (
          name
        )}
        <div className={styles.about}>
          <TimeAgo at={createdAt} />
          {editedAt && " · edited"}
          {group && (
            <>
              {" · "}
              <Link href={`/group/${group.id}`}>{group.name}</Link>
              {isFeatured && (
                <>
                  {" "}
                  <Featured />
                </>
              )}
            </>
          )}
        </div>
      </div>
    </div>
  );
}

/** The mark of a note that the group's owner chose. */
function Featured() {
  return (
    <span className={styles.featured}>
      <Star size={12} aria-hidden="true" /> Featured
    </span>
  );
}
