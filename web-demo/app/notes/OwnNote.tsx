import { Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { DeleteNoteDocument, type NoteCardFragment } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { Confirm } from "../../shared/ui/Confirm";
import { IconButton } from "../controls/IconButton";
import styles from "../controls/IconButton.module.css";

/** The author's buttons: edit, and delete with a confirmation. After the deletion it opens the feed. */
export function OwnNote({ note, onEdit }: { note: NoteCardFragment; onEdit: () => void }) {
  const remove = useAction(DeleteNoteDocument);
  const [, navigate] = useLocation();
  const [isConfirming, setConfirming] = useState(false);
  async function removeAndLeave() {
    const { error } = await remove({ noteId: note.id });
    if (!error) navigate("/", { replace: true });
  }
  return (
    <div className={styles.row}>
      <IconButton icon={Pencil} label="Edit this note" onClick={onEdit} />
      <IconButton icon={Trash2} label="Delete this note" isDangerous onClick={() => setConfirming(true)} />
      {isConfirming && (
        <Confirm
          title="Delete this note?"
          text="It is removed for everybody, with its comments. This cannot be undone."
          action="Delete"
          onYes={removeAndLeave}
          onClose={() => setConfirming(false)}
        />
      )}
    </div>
  );
}
