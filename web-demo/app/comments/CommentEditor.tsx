import { type FormEvent, type KeyboardEvent, useState } from "react";
import { type CommentItemFragment, UpdateCommentDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { Button } from "../../shared/ui/Button";
import { CharactersLeft, lengthOf } from "../controls/CharactersLeft";
import styles from "./CommentEditor.module.css";

/** The server's limit, in characters without surrounding white space. */
const MAX_LENGTH = 1024;

interface Props {
  comment: CommentItemFragment;
  onClose: () => void;
}

/** Form for a new text of the viewer's comment. It starts with the text that the viewer wrote last. */
export function CommentEditor({ comment, onClose }: Props) {
  const update = useAction(UpdateCommentDocument);
  const before = comment.pendingEdit?.body ?? comment.body;
  const [text, setText] = useState(before);
  const [isSending, setSending] = useState(false);
  const length = lengthOf(text);
  const isChanged = text !== before;
  const canSend = length > 0 && length <= MAX_LENGTH && isChanged && !isSending;

  async function submit(event?: FormEvent) {
    event?.preventDefault();
    if (!canSend) return;
    setSending(true);
    const { error } = await update({ commentId: comment.id, body: text.trim() });
    setSending(false);
    if (!error) onClose();
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) submit();
    if (event.key === "Escape" && !isChanged) onClose();
  }
  return (
    <form className={styles.editor} aria-label="Edit the comment" onSubmit={submit} onKeyDown={onKeyDown}>
      <textarea
        autoFocus
        rows={1}
        aria-label="Text"
        value={text}
        readOnly={isSending}
        onChange={(event) => setText(event.target.value)}
      />
      <div className={styles.foot}>
        <CharactersLeft max={MAX_LENGTH} length={length} />
        <Button look="quiet" onClick={onClose}>
          Cancel
        </Button>
        <Button look="primary" type="submit" disabled={!canSend} title="⌘ or Ctrl + Enter">
          {isSending ? "Saving…" : "Save"}
        </Button>
      </div>
    </form>
  );
}
