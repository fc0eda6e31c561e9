import { Heart, Pencil } from "lucide-react";
import { type ReactNode } from "react";
import { type CommentItemFragment, LikeCommentDocument, UnlikeCommentDocument } from "../../shared/api/generated";
import { CountButton } from "../controls/CountButton";
import { IconButton } from "../controls/IconButton";
import { useAction } from "../../shared/api/useAction";
import { useApi } from "../../shared/api/client";
import { Report } from "../reports/Report";
import { useViewer } from "../viewer/useViewer";
import styles from "./CommentActions.module.css";
import { ReviewState } from "../review/ReviewState";
import { DeleteComment } from "./DeleteComment";

interface Props {
  comment: CommentItemFragment;
  onReply: () => void;
  onEdit: () => void;
  /** Further content of the row. */
  children?: ReactNode;
}

/** Actions on a comment: like and reply if it is published, edit and delete if it is the viewer's own. */
export function CommentActions({ comment, onReply, onEdit, children }: Props) {
  const like = useAction(LikeCommentDocument);
  const unlike = useAction(UnlikeCommentDocument);
  const { session } = useApi();
  const viewer = useViewer();
  const isOwn = !!viewer && viewer.id === comment.author?.id;
  const commentId = comment.id;
  const isPublic = comment.state === "APPROVED";
  return (
    <div className={styles.actions}>
      {isPublic && !comment.isRemoved && (
        <>
          <CountButton
            icon={Heart}
            colour="like"
            label="Like"
            unit="likes"
            count={comment.likeCount}
            isOn={comment.viewerHasLiked}
            onToggle={(on) => (on ? like : unlike)({ commentId })}
          />
          <button type="button" className={styles.action} onClick={onReply}>
            Reply
          </button>
        </>
      )}
      {!isPublic && <ReviewState of={comment} />}
      {children}
      {isOwn && (
        <div className={styles.end}>
          <IconButton icon={Pencil} label="Edit this comment" size={16} onClick={onEdit} />
          <DeleteComment commentId={commentId} />
        </div>
      )}
      {!isOwn && isPublic && !comment.isRemoved && session && (
        <div className={styles.end}>
          <Report of="comment" id={commentId} />
        </div>
      )}
    </div>
  );
}
