import { ChevronDown, ChevronUp } from "lucide-react";
import { useId, useState } from "react";
import { type CommentItemFragment, type CommentSort } from "../../shared/api/generated";
import { exactly } from "../../shared/ui/Count";
import { CommentActions } from "./CommentActions";
import actionStyles from "./CommentActions.module.css";
import { CommentComposer } from "./CommentComposer";
import { CommentText } from "./CommentText";
import styles from "./Comment.module.css";
import { Replies } from "./Replies";
import { Reply } from "./Reply";
import { isUnpublished } from "./withOwn";

interface Props {
  comment: CommentItemFragment;
  noteId: string;
  sort: CommentSort;
  /** The viewer's own replies that are pending or rejected. */
  ownReplies: CommentItemFragment[];
}

/** A comment on a note, with its replies folded below it. */
export function Comment({ comment, noteId, sort, ownReplies }: Props) {
  /** The comment that the reply form answers: this one, or a reply below it. */
  const [answered, setAnswered] = useState<CommentItemFragment>();
  const [isUnfolded, setUnfolded] = useState(false);
  const repliesId = useId();
  const { replyCount } = comment;
  const label = `Comment by ${comment.author?.name ?? "somebody"}`;
  const Chevron = isUnfolded ? ChevronUp : ChevronDown;
  function sent() {
    setAnswered(undefined);
    setUnfolded(true);
  }
  return (
    <article className={styles.comment} aria-label={label} data-comment={comment.id}>
      <CommentText comment={comment}>
        <CommentActions comment={comment} onReply={() => setAnswered(comment)}>
          {(replyCount > 0 || isUnfolded) && (
            <button
              type="button"
              className={`${actionStyles.action} ${actionStyles.fold}`}
              aria-expanded={isUnfolded}
              aria-controls={repliesId}
              onClick={() => setUnfolded(!isUnfolded)}
            >
              <Chevron size={16} aria-hidden="true" />
              {isUnfolded ? "Hide replies" : `Show ${exactly(replyCount)} ${replyCount === 1 ? "reply" : "replies"}`}
            </button>
          )}
        </CommentActions>
      </CommentText>
      <div id={repliesId} className={styles.below}>
        {ownReplies.filter(isUnpublished).map((reply) => (
          <Reply key={reply.id} reply={reply} onReply={setAnswered} />
        ))}
        {isUnfolded && (
          <Replies comment={comment} sort={sort} own={ownReplies} onReply={setAnswered} />
        )}
        {answered && (
          <CommentComposer
            key={answered.id}
            noteId={noteId}
            answered={answered}
            onSent={sent}
            onCancel={() => setAnswered(undefined)}
          />
        )}
      </div>
    </article>
  );
}
