import { Heart, Trash2 } from "lucide-react";
import { useState } from "react";
import {
  type CommentItemFragment,
  DeleteCommentDocument,
  LikeCommentDocument,
  UnlikeCommentDocument,
} from "../../shared/api/generated";
import { Confirm } from "../../shared/ui/Confirm";
import { CountButton } from "../layout/CountButton";
import { useAction } from "../layout/useAction";
import { useViewer } from "../layout/useViewer";
import styles from "./CommentActions.module.css";

/** What one can do with a comment: like and answer it when others see it, delete it when it is one's own. */
export function CommentActions({ comment, onReply }: { comment: CommentItemFragment; onReply: () => void }) {
  const like = useAction(LikeCommentDocument);
  const unlike = useAction(UnlikeCommentDocument);
  const viewer = useViewer();
  const isOwn = !!viewer && viewer.id === comment.author?.id;
  const commentId = comment.id;
  return (
    <div className={styles.actions}>
      {comment.state === "APPROVED" && (
        <>
          <CountButton
            icon={Heart}
            colour="like"
            label="Like"
            unit="likes"
            count={comment.likeCount}
            isOn={comment.viewerHasLiked}
            onTurn={(on) => (on ? like : unlike)({ commentId })}
          />
          <button type="button" className={styles.action} onClick={onReply}>
            Reply
          </button>
        </>
      )}
      {isOwn && <Delete commentId={commentId} />}
    </div>
  );
}

function Delete({ commentId }: { commentId: string }) {
  const remove = useAction(DeleteCommentDocument);
  const [asks, setAsks] = useState(false);
  return (
    <>
      <button
        type="button"
        className={`${styles.action} ${styles.delete}`}
        aria-label="Delete this comment"
        onClick={() => setAsks(true)}
      >
        <Trash2 size={17} aria-hidden="true" />
      </button>
      {asks && (
        <Confirm
          title="Delete this comment?"
          text="This cannot be undone. Replies to it stay."
          action="Delete"
          onYes={() => remove({ commentId })}
          onClose={() => setAsks(false)}
        />
      )}
    </>
  );
}
