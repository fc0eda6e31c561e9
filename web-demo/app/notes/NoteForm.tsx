import { type FormEvent, type KeyboardEvent, useState } from "react";
import { Button } from "../../shared/ui/Button";
import { CharactersLeft, lengthOf } from "../controls/CharactersLeft";
import styles from "./NoteForm.module.css";

/** The server's limits, in characters without surrounding white space. */
const MAX_TITLE = 200;
const MAX_BODY = 10_000;

interface Props {
  /** Name of the form for screen readers. */
  label: string;
  /** Text of the button, before and while it is sent. */
  action: [string, string];
  before?: { title: string; body: string };
  /** Resolves to whether it succeeded. */
  onSend: (title: string, body: string) => Promise<boolean>;
  onClose: () => void;
}

/** Form for the texts of a note. It keeps them until the server has stored them. */
export function NoteForm({ label, action, before = { title: "", body: "" }, onSend, onClose }: Props) {
  const [title, setTitle] = useState(before.title);
  const [body, setBody] = useState(before.body);
  const [isSending, setSending] = useState(false);
  const [titleLength, bodyLength] = [lengthOf(title), lengthOf(body)];
  const fits = titleLength <= MAX_TITLE && bodyLength <= MAX_BODY;
  const isChanged = title !== before.title || body !== before.body;
  const canSend = titleLength > 0 && bodyLength > 0 && fits && isChanged && !isSending;

  async function submit(event?: FormEvent) {
    event?.preventDefault();
    if (!canSend) return;
    setSending(true);
    const isDone = await onSend(title.trim(), body.trim());
    setSending(false);
    if (isDone) onClose();
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) submit();
    if (event.key === "Escape" && !isChanged) onClose();
  }
  return (
    <form className={styles.form} aria-label={label} onSubmit={submit} onKeyDown={onKeyDown}>
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
          {action[isSending ? 1 : 0]}
        </Button>
      </div>
    </form>
  );
}
