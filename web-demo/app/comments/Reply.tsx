import { memo } from "react";
import { type CommentItemFragment } from "../../shared/api/generated";
import { CommentActions } from "./CommentActions";
import { CommentText } from "./CommentText";
import styles from "./Reply.module.css";

interface Props {
  reply: CommentItemFragment;
  onReply: (reply: CommentItemFragment) => void;
}

/** A reply. Replies to it are on the same level. */
export const Reply = memo(function Reply({ reply, onReply }: Props) {
  const name = reply.author?.name ?? "somebody";
  return (
    <article className={styles.reply} aria-label={`Reply by ${name}`} data-comment={reply.id}>
      <CommentText comment={reply}>
        <CommentActions comment={reply} onReply={() => onReply(reply)} />
      </CommentText>
    </article>
  );
});
