import { Check, X } from "lucide-react";
import { useState } from "react";
import { useAction } from "../../shared/api/useAction";
import { ApproveCommentDocument, type UndecidedCommentsQuery } from "../../shared/api/generated";
import { Avatar } from "../../shared/ui/Avatar";
import { Button } from "../../shared/ui/Button";
import { TimeAgo } from "../../shared/ui/TimeAgo";
import { Reject } from "./Reject";
import styles from "./comments.module.css";

type UndecidedComment = NonNullable<UndecidedCommentsQuery["undecidedComments"]>["nodes"][number];

interface Props {
  pending: UndecidedComment;
  /** Called before the response; if the action fails, the comment is listed again. */
  onDecided: (outcome: string) => void;
}

/** A pending comment, the reason why it waits, and buttons to decide it. */
export function Pending({ pending: { reason, comment }, onDecided }: Props) {
  const approve = useAction(ApproveCommentDocument);
  const [isRejecting, setRejecting] = useState(false);
  function approveNow() {
    approve({ commentId: comment.id });
    onDecided("Approved.");
  }
  const name = comment.author?.name ?? "Somebody";
  /** What waits: the next text of an approved comment, or a new comment. */
  const { body, images } = comment.pendingEdit ?? comment;
  return (
    <li className={styles.pending} aria-label={`Comment by ${name}`}>
      <Avatar name={name} size={36} />
      <div className={styles.what}>
        <p className={styles.about}>
          {comment.author ? <a href={`/user/${comment.author.id}`}>{name}</a> : name}
          {" · "}
          <TimeAgo at={comment.createdAt} />
          {comment.note && (
            <>
              {" · on "}
              <a href={`/note/${comment.note.id}`}>{comment.note.title}</a>
            </>
          )}
        </p>
        {comment.pendingEdit && <p className={styles.why}>Edited. Everybody sees: {comment.body}</p>}
        <p className={styles.body}>{body}</p>
        {images.map((address) => (
          // Images are not shown: this page sends no requests to other hosts.
          <a key={address} href={address} rel="noreferrer" target="_blank" className={styles.image}>
            {address}
          </a>
        ))}
        <p className={styles.why}>Reason: {reason}</p>
      </div>
      {isRejecting ? (
        <Reject commentId={comment.id} onDecided={onDecided} onCancel={() => setRejecting(false)} />
      ) : (
        <div className={styles.decide}>
          <Button onClick={approveNow} aria-label={`Approve the comment by ${name}`}>
            <Check size={16} aria-hidden="true" /> Approve
          </Button>
          <Button onClick={() => setRejecting(true)} aria-label={`Reject the comment by ${name}`}>
            <X size={16} aria-hidden="true" /> Reject
          </Button>
        </div>
      )}
    </li>
  );
}
