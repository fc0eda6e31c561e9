import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { DeleteGroupDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { Confirm } from "../../shared/ui/Confirm";
import styles from "../notes/OwnNote.module.css";

/** The owner's button: delete, with a confirmation. After the deletion it opens the groups. */
export function OwnGroup({ id }: { id: string }) {
  const remove = useAction(DeleteGroupDocument);
  const [, navigate] = useLocation();
  const [isConfirming, setConfirming] = useState(false);
  async function removeAndLeave() {
    const { error } = await remove({ groupId: id });
    if (!error) navigate("/groups", { replace: true });
  }
  return (
    <div className={styles.own}>
      <button type="button" className={styles.delete} aria-label="Delete this group" onClick={() => setConfirming(true)}>
        <Trash2 size={19} aria-hidden="true" />
      </button>
      {isConfirming && (
        <Confirm
          title="Delete this group?"
          text="It is removed for everybody; its notes stay, in no group. This cannot be undone."
          action="Delete"
          onYes={removeAndLeave}
          onClose={() => setConfirming(false)}
        />
      )}
    </div>
  );
}
