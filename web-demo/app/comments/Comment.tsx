import { ChevronDown, ChevronUp } from "lucide-react";
import { useId, useState } from "react";
import { type CommentItemFragment, type CommentOrder } from "../../shared/api/generated";
import { exactly } from "../../shared/ui/Count";
import { CommentActions } from "./CommentActions";
import actionStyles from "./CommentActions.module.css";
import { CommentComposer } from "./CommentComposer";
import { CommentEditor } from "./CommentEditor";
import { CommentText } from "./CommentText";
import styles from "./Comment.module.css";
import { Replies } from "./Replies";
import { Reply } from "./Reply";
import { isUnpublished } from "./withOwn";

interface Props {
  comment: CommentItemFragment;
  noteId: string;
  orderBy: CommentOrder;
  /** Ids of comments that appeared since the thread was read. */
  appeared: ReadonlySet<string>;
  /** The viewer's own replies that are pending or rejected. */
  ownReplies: CommentItemFragment[];
}

/** A comment on a note, with its replies collapsed below it. */
export function Comment({ comment, noteId, orderBy, appeared, ownReplies }: Props) {
  /** The comment that the open form replies to: this one, or a reply below it. */
  const [parent, setParent] = useState<CommentItemFragment>();
  const [isExpanded, setExpanded] = useState(false);
  const [isEditing, setEditing] = useState(false);
  const repliesId = useId();
  const { replyCount } = comment;
  const label = `Comment by ${comment.author?.name ?? "somebody"}`;
  const Chevron = isExpanded ? ChevronUp : ChevronDown;
  function onSent() {
    setParent(undefined);
    setExpanded(true);
  }
  return (
    <article
      className={styles.comment}
      data-new={appeared.has(comment.id)}
      aria-label={label}
      data-comment={comment.id}
    >
      <CommentText
        comment={comment}
        editor={isEditing ? <CommentEditor comment={comment} onClose={() => setEditing(false)} /> : undefined}
      >
        <CommentActions comment={comment} onReply={() => setParent(comment)} onEdit={() => setEditing(true)}>
          {(replyCount > 0 || isExpanded) && (
            <button
              type="button"
              className={`${actionStyles.action} ${actionStyles.fold}`}
              aria-expanded={isExpanded}
              aria-controls={repliesId}
              onClick={() => setExpanded(!isExpanded)}
            >
              <Chevron size={16} aria-hidden="true" />
              {isExpanded ? (
                <span>
                  Hide<span className={actionStyles.long}> replies</span>
                </span>
              ) : (
                <span>
                  <span className={actionStyles.long}>Show </span>
                  {exactly(replyCount)} {replyCount === 1 ? "reply" : "replies"}
                </span>
              )}
            </button>
          )}
        </CommentActions>
      </CommentText>
      <div id={repliesId} className={styles.below}>
        {ownReplies.filter(isUnpublished).map((reply) => (
          <Reply key={reply.id} reply={reply} onReply={setParent} />
        ))}
        {isExpanded && (
          <Replies comment={comment} orderBy={orderBy} own={ownReplies} appeared={appeared} onReply={setParent} />
        )}
        {parent && (
          <CommentComposer
            key={parent.id}
            noteId={noteId}
            parent={parent}
            onSent={onSent}
            onCancel={() => setParent(undefined)}
          />
        )}
      </div>
    </article>
  );
}
