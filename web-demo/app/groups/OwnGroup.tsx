import { Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { DeleteGroupDocument, type GroupRowFragment, UpdateGroupDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { Confirm } from "../../shared/ui/Confirm";
import { IconButton } from "../controls/IconButton";
import styles from "../controls/IconButton.module.css";
import { GroupDialog } from "./GroupDialog";

/** The owner's buttons: edit, and delete with a confirmation. After the deletion it opens the groups. */
export function OwnGroup({ group }: { group: GroupRowFragment }) {
  const groupId = group.id;
  const update = useAction(UpdateGroupDocument);
  const remove = useAction(DeleteGroupDocument);
  const [, navigate] = useLocation();
  const [isEditing, setEditing] = useState(false);
  const [isConfirming, setConfirming] = useState(false);
  async function send(texts: { name: string; description: string }): Promise<boolean> {
    const { error } = await update({ groupId, ...texts });
    return !error;
  }
  async function removeAndLeave() {
    const { error } = await remove({ groupId });
    if (!error) navigate("/groups", { replace: true });
  }
  return (
    <div className={styles.row}>
      <IconButton icon={Pencil} label="Edit this group" onClick={() => setEditing(true)} />
      <IconButton icon={Trash2} label="Delete this group" isDangerous onClick={() => setConfirming(true)} />
      {isEditing && (
        <GroupDialog
          title="Edit the group"
          action={["Save", "Saving…"]}
          before={group}
          onSend={send}
          onClose={() => setEditing(false)}
        />
      )}
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
