import { type CommentItemFragment, CommentRepliesDocument, type CommentOrder } from "../../shared/api/generated";
import { exactly } from "../../shared/ui/Count";
import { Problem } from "../../shared/ui/States";
import { chunks } from "../lists/chunks";
import { usePages } from "../../shared/lists/usePages";
import { LiveComments } from "./LiveComments";
import styles from "./Replies.module.css";
import { Reply } from "./Reply";
import { withEvents, withOwn } from "./withOwn";

/** Replies per subscription: the server's limit. */
const GROUP = 100;

interface Props {
  comment: CommentItemFragment;
  orderBy: CommentOrder;
  /** The viewer's own replies that are pending or rejected. */
  own: CommentItemFragment[];
  /** Ids of comments that appeared since the thread was read. */
  appeared: ReadonlySet<string>;
  onReply: (reply: CommentItemFragment) => void;
}

/** The expanded replies of a comment. */
export function Replies({ comment, orderBy, own, appeared, onReply }: Props) {
  const { nodes, endless } = usePages(
    CommentRepliesDocument,
    { commentId: comment.id, orderBy },
    (data) => (data.node && "replies" in data.node ? data.node.replies : null),
    "cache-and-network",
  );
  const { hasMore, isLoading, error, onMore, onRetry } = endless;
  const replies = withOwn(withEvents(nodes, appeared), own);
  const rest = comment.replyCount - replies.length;
  if (error) return <Problem error={error} retry={onRetry} />;
  return (
    <>
      {chunks(replies, GROUP).map((group, i) => (
        <LiveComments key={i} comments={group} onGone={onRetry}>
          {group.map((reply) => (
            <Reply key={reply.id} reply={reply} isNew={appeared.has(reply.id)} onReply={onReply} />
          ))}
        </LiveComments>
      ))}
      {isLoading ? (
        <p role="status" className={styles.loading}>
          Loading…
        </p>
      ) : (
        hasMore && (
          <button type="button" className={styles.more} onClick={onMore}>
            {rest > 0 ? `Show ${exactly(rest)} more` : "Show more"}
          </button>
        )
      )}
    </>
  );
}
