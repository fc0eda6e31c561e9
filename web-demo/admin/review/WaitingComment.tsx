import { ApproveCommentDocument, RejectCommentDocument, type UndecidedCommentsQuery } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { Waiting } from "./Waiting";
import styles from "./review.module.css";

type UndecidedComment = NonNullable<UndecidedCommentsQuery["undecidedComments"]>["nodes"][number];

interface Props {
  waiting: UndecidedComment;
  /** Called before the response; if the action fails, the comment is listed again. */
  onDecided: (outcome: string) => void;
}

/** A comment that waits for a person: its next text, or the comment itself. */
export function WaitingComment({ waiting: { reason, comment }, onDecided }: Props) {
  const approve = useAction(ApproveCommentDocument);
  const reject = useAction(RejectCommentDocument);
  const { body, images } = comment.pendingEdit ?? comment;
  return (
    <Waiting
      what="comment"
      author={comment.author}
      createdAt={comment.createdAt}
      place={
        comment.note && (
          <>
            {" · on "}
            <a href={`/note/${comment.note.id}`}>{comment.note.title}</a>
          </>
        )
      }
      before={comment.pendingEdit && comment.body}
      reason={reason}
      onApprove={() => {
        approve({ commentId: comment.id });
        onDecided("Approved.");
      }}
      onReject={(reason) => {
        reject({ commentId: comment.id, reason });
        onDecided("Rejected.");
      }}
    >
      <p className={styles.body}>{body}</p>
      {images.map((address) => (
        // Images are not shown: this page sends no requests to other hosts.
        <a key={address} href={address} rel="noreferrer" target="_blank" className={styles.image}>
          {address}
        </a>
      ))}
    </Waiting>
  );
}
