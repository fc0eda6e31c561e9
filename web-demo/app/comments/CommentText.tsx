import { Star } from "lucide-react";
import { type ReactNode } from "react";
import { Link } from "wouter";
import { type CommentItemFragment } from "../../shared/api/generated";
import { Avatar } from "../../shared/ui/Avatar";
import { TimeAgo } from "../../shared/ui/TimeAgo";
import styles from "./CommentText.module.css";
import { EditState } from "../review/EditState";

interface Props {
  comment: CommentItemFragment;
  /** The form that is shown in place of the text while it is edited. */
  editor?: ReactNode;
  /** Its actions. */
  children: ReactNode;
}

/** Author and text of a comment, and the user whom it replies to. */
export function CommentText({ comment, editor, children }: Props) {
  const { author, body, createdAt, editedAt, isRemoved, parent, pendingEdit, ratingAtWriting, replyTo } = comment;
  // A reply to the comment above names nobody.
  const answered = replyTo?.id === parent?.id ? null : replyTo?.author;
  if (isRemoved) {
    return (
      <div className={styles.removed}>
        <p>This comment was removed.</p>
        {children}
      </div>
    );
  }
  const name = author?.name ?? "Somebody";
  return (
    <div className={styles.line}>
      <Avatar name={name} size={parent ? 28 : 36} />
      <div className={styles.words}>
        <div className={styles.byline}>
          {author ? <Link href={`/user/${author.id}`}>{name}</Link> : <b>{name}</b>}
          <TimeAgo at={createdAt} />
          {editedAt && <span className={styles.edited}>edited</span>}
          {ratingAtWriting !== null && (
            <span className={styles.rated} title={`Rated the note ${ratingAtWriting} of 10`}>
              <Star size={13} aria-hidden="true" />
              <span className="only-heard">rated the note </span>
              {ratingAtWriting}
            </span>
          )}
        </div>
        {editor ?? (
          <p className={styles.body}>
            {answered && <Link href={`/user/${answered.id}`}>@{answered.name}</Link>} {body}
          </p>
        )}
        {pendingEdit && !editor && (
          <EditState of="comments" id={comment.id} edit={pendingEdit}>
            {pendingEdit.body}
          </EditState>
        )}
        {!editor && children}
      </div>
    </div>
  );
}
