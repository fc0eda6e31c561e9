import { type FormEvent, type KeyboardEvent, useState } from "react";
import { CreateNoteDocument } from "../../shared/api/generated";
import { useApi } from "../../shared/api/client";
import { Avatar } from "../../shared/ui/Avatar";
import { Button } from "../../shared/ui/Button";
import { CharactersLeft, lengthOf } from "../controls/CharactersLeft";
import { useAction } from "../../shared/api/useAction";
import { useRetryKey } from "../controls/useRetryKey";
import { useViewer } from "../viewer/useViewer";
import styles from "./NoteComposer.module.css";

/** The server's limits, in characters without surrounding white space. */
const MAX_TITLE = 200;
const MAX_BODY = 10_000;

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
  const [title, setTitle] = useState("");
  const [body, setBody] = useState("");
  const { send, isSending } = useSend();
  const [titleLength, bodyLength] = [lengthOf(title), lengthOf(body)];
  const fits = titleLength <= MAX_TITLE && bodyLength <= MAX_BODY;
  const canSend = titleLength > 0 && bodyLength > 0 && fits && !isSending;

  async function submit(event?: FormEvent) {
    event?.preventDefault();
    if (canSend && (await send(title.trim(), body.trim()))) onClose();
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) submit();
    if (event.key === "Escape" && !title && !body) onClose();
  }
  return (
    <form className={styles.open} aria-label="New note" onSubmit={submit} onKeyDown={onKeyDown}>
      <input
        autoFocus
        className={styles.title}
        aria-label="Title"
        placeholder="Title"
        value={title}
        readOnly={isSending}
        onChange={(event) => setTitle(event.target.value)}
      />
      <textarea
        rows={3}
        className={styles.body}
        aria-label="Text"
        placeholder="What happened?"
        value={body}
        readOnly={isSending}
        onChange={(event) => setBody(event.target.value)}
      />
      <div className={styles.foot}>
        <CharactersLeft max={MAX_TITLE} length={titleLength} />
        <CharactersLeft max={MAX_BODY} length={bodyLength} />
        <Button look="quiet" onClick={onClose}>
          Cancel
        </Button>
        <Button look="primary" type="submit" disabled={!canSend} title="⌘ or Ctrl + Enter">
          {isSending ? "Posting…" : "Post"}
        </Button>
      </div>
    </form>
  );
}

/** Sends a note; resolves to whether it succeeded. */
function useSend() {
  const create = useAction(CreateNoteDocument);
  const { keyOf } = useRetryKey();
  const [isSending, setSending] = useState(false);
  async function send(title: string, body: string): Promise<boolean> {
    setSending(true);
    const { error } = await create({ title, body, key: keyOf(`${title}\n${body}`) });
    setSending(false);
    return !error;
  }
  return { send, isSending };
}
