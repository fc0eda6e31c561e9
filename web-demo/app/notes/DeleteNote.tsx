import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { DeleteNoteDocument, type NoteCardFragment } from "../../shared/api/generated";
import { Confirm } from "../../shared/ui/Confirm";
import { useAction } from "../../shared/api/useAction";
import styles from "./DeleteNote.module.css";

/** The author's delete button, with a confirmation. After the deletion it opens the feed. */
export function DeleteNote({ note }: { note: NoteCardFragment }) {
  const remove = useAction(DeleteNoteDocument);
  const [, navigate] = useLocation();
  const [isConfirming, setConfirming] = useState(false);
  async function removeAndLeave() {
    const { error } = await remove({ noteId: note.id });
    if (!error) navigate("/", { replace: true });
  }
  return (
    <>
      <button type="button" className={styles.delete} aria-label="Delete this note" onClick={() => setConfirming(true)}>
        <Trash2 size={19} aria-hidden="true" />
      </button>
      {isConfirming && (
        <Confirm
          title="Delete this note?"
          text="It is removed for everybody, with its comments. This cannot be undone."
          action="Delete"
          onYes={removeAndLeave}
          onClose={() => setConfirming(false)}
        />
      )}
    </>
  );
}
