import { memo, useState } from "react";
import { type CommentItemFragment, type CommentSort } from "../../shared/api/generated";
import { CommentActions } from "./CommentActions";
import { CommentComposer } from "./CommentComposer";
import { CommentText } from "./CommentText";
import styles from "./Comment.module.css";
import { Replies } from "./Replies";

interface Props {
  comment: CommentItemFragment;
  noteId: string;
  sort: CommentSort;
  /** The viewer's own replies to it that nobody else sees. */
  unpublishedReplies: CommentItemFragment[];
}

/** A comment on a note, with its replies folded below it. */
export function Comment({ comment, noteId, sort, unpublishedReplies }: Props) {
  /** Whom the reply that is being written answers: this comment, or a reply below it. */
  const [answered, setAnswered] = useState<CommentItemFragment>();
  const [isUnfolded, setUnfolded] = useState(false);
  return (
    <article className={styles.comment} aria-label={labelOf(comment)} data-comment={comment.id}>
      <CommentText comment={comment}>
        <CommentActions comment={comment} onReply={() => setAnswered(comment)} />
      </CommentText>
      <div className={styles.below}>
        <Replies
          comment={comment}
          sort={sort}
          unpublished={unpublishedReplies}
          isUnfolded={isUnfolded}
          onFold={setUnfolded}
          onReply={setAnswered}
        />
        {answered && (
          <CommentComposer
            key={answered.id}
            noteId={noteId}
            answered={answered}
            onSent={() => {
              setAnswered(undefined);
              setUnfolded(true);
            }}
            onCancel={() => setAnswered(undefined)}
          />
        )}
      </div>
    </article>
  );
}

/** A reply. What answers it stands beside it. */
export const Reply = memo(function Reply({
  reply,
  onReply,
}: {
  reply: CommentItemFragment;
  onReply: (reply: CommentItemFragment) => void;
}) {
  return (
    <article className={styles.reply} aria-label={labelOf(reply)} data-comment={reply.id}>
      <CommentText comment={reply}>
        <CommentActions comment={reply} onReply={() => onReply(reply)} />
      </CommentText>
    </article>
  );
});

const labelOf = ({ author, parent }: CommentItemFragment) =>
  `${parent ? "Reply" : "Comment"} by ${author?.name ?? "somebody"}`;
