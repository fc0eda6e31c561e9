import { type FormEvent, useRef, useState } from "react";
import { PostInGroupDocument } from "../../shared/api/generated";
import { Button } from "../../shared/ui/Button";
import { useAction } from "../../shared/api/useAction";
import styles from "./PostForm.module.css";
import formStyles from "../controls/form.module.css";
import { freshKey } from "./freshKey";

/** The server's limits, in characters. */
const MAX_TITLE = 200;
const MAX_BODY = 10_000;

interface Props {
  groupId: string;
  name: string;
  onPosted: () => void;
}

/** Form for a note in a group: a title, and a text field once there is a title. */
export function PostForm({ groupId, name, onPosted }: Props) {
  const [title, setTitle] = useState("");
  const [body, setBody] = useState("");
  const [isSending, setSending] = useState(false);
  /** Kept until the note is stored, so that a retry creates no second note. */
  const key = useRef(freshKey());
  const post = useAction(PostInGroupDocument);

  async function submit(event: FormEvent) {
    event.preventDefault();
    setSending(true);
    const { error } = await post({ groupId, title: title.trim(), body: body.trim(), key: key.current });
    setSending(false);
    if (error) return;
    key.current = freshKey();
    setTitle("");
    setBody("");
    onPosted();
  }

  return (
    <form className={`${formStyles.form} ${styles.post}`} onSubmit={submit} aria-label="New note">
      <input
        aria-label="Title"
        placeholder={`Post something in ${name}`}
        value={title}
        maxLength={MAX_TITLE}
        onChange={(event) => setTitle(event.target.value)}
      />
      {title && (
        <>
          <textarea
            aria-label="Text"
            placeholder="Tell it as you would tell a friend."
            rows={3}
            value={body}
            maxLength={MAX_BODY}
            onChange={(event) => setBody(event.target.value)}
          />
          <footer>
            <Button look="primary" type="submit" disabled={isSending || !title.trim() || !body.trim()}>
              Post
            </Button>
          </footer>
        </>
      )}
    </form>
  );
}
