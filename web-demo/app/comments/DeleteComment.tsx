import { Trash2 } from "lucide-react";
import { useState } from "react";
import { DeleteCommentDocument } from "../../shared/api/generated";
import { Confirm } from "../../shared/ui/Confirm";
import { IconButton } from "../controls/IconButton";
import { useAction } from "../../shared/api/useAction";

/** The author's delete button, with a confirmation. */
export function DeleteComment({ commentId }: { commentId: string }) {
  const remove = useAction(DeleteCommentDocument);
  const [isConfirming, setConfirming] = useState(false);
  return (
    <>
      <IconButton icon={Trash2} label="Delete this comment" isDangerous size={17} onClick={() => setConfirming(true)} />
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
