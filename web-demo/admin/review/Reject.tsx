import { type FormEvent, useId } from "react";
import { Button } from "../../shared/ui/Button";
import styles from "./review.module.css";

/** The server's limit, in characters. */
const MAX_LENGTH = 200;

interface Props {
  onReject: (reason: string) => void;
  onCancel: () => void;
}

/** Asks for the reason, which is shown to the author. */
export function Reject({ onReject, onCancel }: Props) {
  const id = useId();

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const reason = String(new FormData(event.currentTarget).get("reason")).trim();
    if (reason) onReject(reason);
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
