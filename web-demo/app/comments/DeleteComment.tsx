import { Trash2 } from "lucide-react";
import { useState } from "react";
import { DeleteCommentDocument } from "../../shared/api/generated";
import { Confirm } from "../../shared/ui/Confirm";
import { useAction } from "../../shared/api/useAction";
import styles from "./DeleteComment.module.css";

/** The author's delete button, with a confirmation. */
export function DeleteComment({ commentId }: { commentId: string }) {
  const remove = useAction(DeleteCommentDocument);
  const [isConfirming, setConfirming] = useState(false);
  return (
    <>
      <button
        type="button"
        className={styles.delete}
        aria-label="Delete this comment"
        onClick={() => setConfirming(true)}
      >
        <Trash2 size={17} aria-hidden="true" />
      </button>
      {isConfirming && (
        <Confirm
          title="Delete this comment?"
          text="This cannot be undone. Replies to it stay."
          action="Delete"
          onYes={() => remove({ commentId })}
          onClose={() => setConfirming(false)}
        />
      )}
    </>
  );
}
