import { ChevronDown, ChevronUp } from "lucide-react";
import { useState } from "react";
import { type CommentItemFragment, CommentRepliesDocument, type CommentSort } from "../../shared/api/generated";
import { exactly } from "../../shared/ui/Count";
import { Problem } from "../../shared/ui/States";
import { usePages } from "../layout/usePages";
import { useSettled } from "../layout/useSettled";
import { Reply } from "./Comment";
import { LiveComments } from "./LiveComments";
import styles from "./Replies.module.css";

interface Props {
  comment: CommentItemFragment;
  sort: CommentSort;
  /** The viewer's own that nobody else sees. */
  unpublished: CommentItemFragment[];
  isUnfolded: boolean;
  onFold: (isUnfolded: boolean) => void;
  onReply: (reply: CommentItemFragment) => void;
}

/** What stands below a comment: folded to a line, until somebody asks for it. */
export function Replies({ comment, sort, unpublished, isUnfolded, onFold, onReply }: Props) {
  /** Times that the thread was read again from its first page. */
  const [readings, setReadings] = useState(0);
  const { replyCount } = comment;
  return (
    <>
      {unpublished.map((reply) => (
        <Reply key={reply.id} reply={reply} onReply={onReply} />
      ))}
      {isUnfolded ? (
        <Unfolded
          key={readings}
          comment={comment}
          sort={sort}
          ownPending={unpublished.filter(({ state }) => state === "PENDING").length}
          onReply={onReply}
          onReadAgain={() => setReadings((n) => n + 1)}
        />
      ) : null}
      {(replyCount > 0 || isUnfolded) && (
        <button type="button" className={styles.more} aria-expanded={isUnfolded} onClick={() => onFold(!isUnfolded)}>
          {isUnfolded ? <ChevronUp size={16} aria-hidden="true" /> : <ChevronDown size={16} aria-hidden="true" />}
          {isUnfolded ? "Hide replies" : `Show ${counted(replyCount)}`}
        </button>
      )}
    </>
  );
}

interface UnfoldedProps extends Pick<Props, "comment" | "sort" | "onReply"> {
  ownPending: number;
  onReadAgain: () => void;
}

/** Counts and replies come one after the other: only what lasts is told. */
const SETTLED_MS = 700;

function Unfolded({ comment, sort, ownPending, onReply, onReadAgain }: UnfoldedProps) {
  const { nodes, endless } = usePages(
    CommentRepliesDocument,
    { commentId: comment.id, sort },
    (data) => (data.node && "replies" in data.node ? data.node.replies : null),
    "cache-and-network",
  );
  const { hasMore, isLoading, error, onMore, onRetry } = endless;
  const rest = useSettled(comment.replyCount - nodes.length - ownPending, SETTLED_MS);
  if (error) return <Problem error={error} retry={onRetry} />;
  return (
    <LiveComments commentIds={nodes.slice(0, 100).map(({ id }) => id)} onGone={onReadAgain}>
      {nodes.map((reply) => (
        <Reply key={reply.id} reply={reply} onReply={onReply} />
      ))}
      {isLoading ? (
        <p role="status" className={styles.loading}>
          Loading…
        </p>
      ) : (
        rest > 0 && (
          <button type="button" className={styles.more} onClick={hasMore ? onMore : onReadAgain}>
            Show {hasMore ? `${exactly(rest)} more` : `${exactly(rest)} new`}
          </button>
        )
      )}
    </LiveComments>
  );
}

const counted = (replies: number) => `${exactly(replies)} ${replies === 1 ? "reply" : "replies"}`;
