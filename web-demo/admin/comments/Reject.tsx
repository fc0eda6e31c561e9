import { type FormEvent, useId } from "react";
import { useAction } from "../../shared/api/useAction";
import { RejectCommentDocument } from "../../shared/api/generated";
import { Button } from "../../shared/ui/Button";
import styles from "./comments.module.css";

/** The server's limit, in characters. */
const MAX_LENGTH = 200;

interface Props {
  commentId: string;
  onDecided: (outcome: string) => void;
  onCancel: () => void;
}

/** Asks for the reason, which is shown to the comment's author. */
export function Reject({ commentId, onDecided, onCancel }: Props) {
  const id = useId();
  const reject = useAction(RejectCommentDocument);

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const reason = String(new FormData(event.currentTarget).get("reason")).trim();
    if (!reason) return;
    reject({ commentId, reason });
    onDecided("Rejected.");
  }

  return (
    <form className={styles.reject} onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && onCancel()}>
      <label htmlFor={id}>Reason, shown to the author</label>
      {/* The moderator opened this form to write the reason. */}
      <input id={id} name="reason" required maxLength={MAX_LENGTH} autoComplete="off" autoFocus />
      <Button look="primary" type="submit">
        Reject
      </Button>
      <Button look="quiet" onClick={onCancel}>
        Cancel
      </Button>
    </form>
  );
}
