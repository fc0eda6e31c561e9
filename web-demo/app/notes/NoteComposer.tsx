import { useState } from "react";
import { CreateNoteDocument } from "../../shared/api/generated";
import { useApi } from "../../shared/api/client";
import { Avatar } from "../../shared/ui/Avatar";
import { useAction } from "../../shared/api/useAction";
import { useRetryKey } from "../controls/useRetryKey";
import { useViewer } from "../viewer/useViewer";
import { NoteForm } from "./NoteForm";
import styles from "./NoteComposer.module.css";

/** Form for a new note: a button until it is opened. It keeps the text until the server has stored it. */
export function NoteComposer() {
  const { session } = useApi();
  const viewer = useViewer();
  const [isOpen, setOpen] = useState(false);
  if (!session) return null;
  return (
    <div className={styles.composer}>
      <Avatar name={viewer?.name ?? session.user} />
      {isOpen ? (
        <Open onClose={() => setOpen(false)} />
      ) : (
        <button type="button" className={styles.folded} onClick={() => setOpen(true)}>
          What is on your mind?
        </button>
      )}
    </div>
  );
}

function Open({ onClose }: { onClose: () => void }) {
  const create = useAction(CreateNoteDocument);
  const { keyOf } = useRetryKey();
  async function send(title: string, body: string): Promise<boolean> {
    const { error } = await create({ title, body, key: keyOf(`${title}\n${body}`) });
    return !error;
  }
  return <NoteForm label="New note" action={["Post", "Posting…"]} onSend={send} onClose={onClose} />;
}
