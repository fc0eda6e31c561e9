import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { AddCommentDocument, type CommentItemFragment } from "../../shared/api/generated";
import { useApi } from "../../shared/api/client";
import { Avatar } from "../../shared/ui/Avatar";
import { Button } from "../../shared/ui/Button";
import { CharactersLeft, lengthOf } from "../controls/CharactersLeft";
import { useAction } from "../../shared/api/useAction";
import { useRetryKey } from "../controls/useRetryKey";
import { useViewer } from "../viewer/useViewer";
import styles from "./CommentComposer.module.css";

/** The server's limit, in characters without surrounding white space. */
const MAX_LENGTH = 1024;

interface Props {
  noteId: string;
  /** The comment to reply to; undefined for a comment on the note itself. */
  parent?: CommentItemFragment;
  onSent?: () => void;
  onCancel?: () => void;
}

/** Form for a comment or a reply. It keeps the text until the server has stored it. */
export function CommentComposer({ noteId, parent, onSent, onCancel }: Props) {
  const { session } = useApi();
  const viewer = useViewer();
  const [text, setText] = useState("");
  const { send, isSending } = useSend(noteId, parent?.id);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!parent) return;
    // `scrollIntoView` respects the margin of the style, which the scrolling of `focus` does not.
    field.current?.focus({ preventScroll: true });
    field.current?.scrollIntoView({ block: "nearest" });
  }, [parent]);

  if (!session) return <p className={styles.nobody}>Sign in to comment.</p>;
  const length = lengthOf(text);
  const canSend = length > 0 && length <= MAX_LENGTH && !isSending;
  const label = parent ? `Reply to ${parent.author?.name ?? "somebody"}` : "Add a comment";

  async function submit(event?: FormEvent) {
    event?.preventDefault();
    if (!canSend || !(await send(text.trim()))) return;
    setText("");
    onSent?.();
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) submit();
    if (event.key === "Escape" && !text) onCancel?.();
  }
  return (
    <form className={styles.composer} onSubmit={submit}>
      <Avatar name={viewer?.name ?? session.user} size={parent ? 28 : 36} />
      <textarea
        ref={field}
        rows={1}
        aria-label={label}
        placeholder={`${label}…`}
        value={text}
        readOnly={isSending}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className={styles.foot} hidden={!parent && !text}>
        <CharactersLeft max={MAX_LENGTH} length={length} />
        {onCancel && (
          <Button look="quiet" onClick={onCancel}>
            Cancel
          </Button>
        )}
        <Button look="primary" type="submit" disabled={!canSend} title="⌘ or Ctrl + Enter">
          {isSending ? "Sending…" : parent ? "Reply" : "Comment"}
        </Button>
      </div>
    </form>
  );
}

/** Sends a text; resolves to whether it succeeded. */
function useSend(noteId: string, replyToId?: string) {
  const add = useAction(AddCommentDocument);
  const { keyOf, forget } = useRetryKey();
  const [isSending, setSending] = useState(false);
  async function send(body: string): Promise<boolean> {
    setSending(true);
    const { error } = await add({ noteId, replyToId, body, key: keyOf(body) });
    setSending(false);
    if (!error) forget();
    return !error;
  }
  return { send, isSending };
}
