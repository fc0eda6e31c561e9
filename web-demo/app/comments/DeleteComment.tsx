import { Trash2 } from "lucide-react";
import { useState } from "react";
import { DeleteCommentDocument } from "../../shared/api/generated";
import { Confirm } from "../../shared/ui/Confirm";
import { useAction } from "../../shared/api/useAction";
import styles from "./DeleteComment.module.css";

/** For its author. */
export function DeleteComment({ commentId }: { commentId: string }) {
  const remove = useAction(DeleteCommentDocument);
  const [asks, setAsks] = useState(false);
  return (
    <>
      <button type="button" className={styles.delete} aria-label="Delete this comment" onClick={() => setAsks(true)}>
        <Trash2 size={17} aria-hidden="true" />
      </button>
      {asks && (
        <Confirm
          title="Delete this comment?"
          text="This cannot be undone. Replies to it stay."
          action="Delete"
          onYes={() => remove({ commentId })}
          onClose={() => setAsks(false)}
        />
      )}
    </>
  );
}
