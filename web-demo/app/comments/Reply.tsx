import { memo, useState } from "react";
import { type CommentItemFragment } from "../../shared/api/generated";
import { CommentActions } from "./CommentActions";
import { CommentEditor } from "./CommentEditor";
import { CommentText } from "./CommentText";
import styles from "./Reply.module.css";

interface Props {
  reply: CommentItemFragment;
  /** It appeared while the page was open. */
  isNew?: boolean;
  onReply: (reply: CommentItemFragment) => void;
}

/** A reply. Replies to it are on the same level. */
export const Reply = memo(function Reply({ reply, isNew, onReply }: Props) {
  const [isEditing, setEditing] = useState(false);
  const name = reply.author?.name ?? "somebody";
  return (
    <article className={styles.reply} data-new={isNew} aria-label={`Reply by ${name}`} data-comment={reply.id}>
      <CommentText
        comment={reply}
        editor={isEditing ? <CommentEditor comment={reply} onClose={() => setEditing(false)} /> : undefined}
      >
        <CommentActions comment={reply} onReply={() => onReply(reply)} onEdit={() => setEditing(true)} />
      </CommentText>
    </article>
  );
});
