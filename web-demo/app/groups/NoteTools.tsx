import { FolderMinus, Star } from "lucide-react";
import { useState } from "react";
import {
  FeatureNoteDocument,
  type NoteCardFragment,
  RemoveGroupNoteDocument,
  UnfeatureNoteDocument,
} from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { Confirm } from "../../shared/ui/Confirm";
import { IconButton } from "../controls/IconButton";
import styles from "../controls/IconButton.module.css";

/** The owner's buttons on a note in the group: feature it, and take it out. */
export function NoteTools({ groupId, note: { id: noteId, isFeatured } }: { groupId: string; note: NoteCardFragment }) {
  const feature = useAction(FeatureNoteDocument);
  const unfeature = useAction(UnfeatureNoteDocument);
  const remove = useAction(RemoveGroupNoteDocument);
  const [isConfirming, setConfirming] = useState(false);
  return (
    <div className={styles.row}>
      <IconButton
        icon={Star}
        label="Feature this note"
        aria-pressed={isFeatured}
        onClick={() => (isFeatured ? unfeature : feature)({ noteId })}
      />
      <IconButton
        icon={FolderMinus}
        label="Take this note out of the group"
        isDangerous
        onClick={() => setConfirming(true)}
      />
      {isConfirming && (
        <Confirm
          title="Take this note out of the group?"
          text="The note stays, in no group. Its author cannot put it back."
          action="Take it out"
          onYes={() => remove({ groupId, noteId })}
          onClose={() => setConfirming(false)}
        />
      )}
    </div>
  );
}
