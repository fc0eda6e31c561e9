import { useState } from "react";
import { type CommentItemFragment, CommentRepliesDocument, type CommentOrder } from "../../shared/api/generated";
import { exactly } from "../../shared/ui/Count";
import { Problem } from "../../shared/ui/States";
import { chunks } from "../lists/chunks";
import { usePages } from "../../shared/lists/usePages";
import { useSettled } from "../controls/useSettled";
import { LiveComments } from "./LiveComments";
import styles from "./Replies.module.css";
import { Reply } from "./Reply";
import { useRemoved } from "./useRemoved";
import { isPending, withOwn } from "./withOwn";

/** Counts and replies arrive one after the other: a difference shows only if it lasts this long. */
const SETTLED_MS = 700;
/** Replies per subscription: the server's limit. */
const GROUP = 100;

interface Props {
  comment: CommentItemFragment;
  orderBy: CommentOrder;
  /** The viewer's own replies that are pending or rejected. */
  own: CommentItemFragment[];
  onReply: (reply: CommentItemFragment) => void;
}

/** The expanded replies of a comment. */
export function Replies(props: Props) {
  /** How often they were read again from the first page. */
  const [readings, setReadings] = useState(0);
  return <Loaded key={readings} {...props} onReadAgain={() => setReadings((n) => n + 1)} />;
}

function Loaded({ comment, orderBy, own, onReply, onReadAgain }: Props & { onReadAgain: () => void }) {
  const { nodes, endless } = usePages(
    CommentRepliesDocument,
    { commentId: comment.id, orderBy },
    (data) => (data.node && "replies" in data.node ? data.node.replies : null),
    "cache-and-network",
  );
  const { hasMore, isLoading, error, onMore, onRetry } = endless;
  const replies = withOwn(nodes, own);
  useRemoved(replies, comment.replyCount);
  const restNow = comment.replyCount - replies.length - own.filter(isPending).length;
  const rest = Math.min(restNow, useSettled(restNow, SETTLED_MS));
  if (error) return <Problem error={error} retry={onRetry} />;
  return (
    <>
      {chunks(replies, GROUP).map((group) => (
        <LiveComments key={group[0]!.id} commentIds={group.map(({ id }) => id)} onGone={onReadAgain}>
          {group.map((reply) => (
            <Reply key={reply.id} reply={reply} onReply={onReply} />
          ))}
        </LiveComments>
      ))}
      {isLoading ? (
        <p role="status" className={styles.loading}>
          Loading…
        </p>
      ) : (
        rest > 0 && (
          <button type="button" className={styles.more} onClick={hasMore ? onMore : onReadAgain}>
            {hasMore ? `Show ${exactly(rest)} more` : `Show ${exactly(rest)} new`}
          </button>
        )
      )}
    </>
  );
}
