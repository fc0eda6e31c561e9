import { X } from "lucide-react";
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { Button } from "../../shared/ui/Button";
import styles from "./FormDialog.module.css";
import formStyles from "./form.module.css";

interface Props {
  title: string;
  /** Text of the button, before and while it is sent. */
  action: [string, string];
  /** Resolves to whether it succeeded. */
  onSend: (form: FormData) => Promise<boolean>;
  onClose: () => void;
  /** The fields, each in a label. */
  children: ReactNode;
  /** Shown below the form. */
  below?: ReactNode;
}

/** A form in a modal dialog, which stays open with its texts until they are stored. */
export function FormDialog({ title, action, onSend, onClose, children, below }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isSending, setSending] = useState(false);
  useEffect(() => {
    dialog.current?.showModal();
    dialog.current?.querySelector("input")?.focus();
  }, []);

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    setSending(true);
    const isDone = await onSend(new FormData(event.currentTarget));
    setSending(false);
    if (isDone) dialog.current?.close();
  }

  return (
    <dialog ref={dialog} className={styles.dialog} aria-label={title} onClose={onClose}>
      <form className={formStyles.form} onSubmit={submit}>
        <header className={styles.head}>
          <h2>{title}</h2>
          <button type="button" aria-label="Close" onClick={() => dialog.current?.close()}>
            <X size={20} />
          </button>
        </header>
        {children}
        <footer>
          <Button look="quiet" onClick={() => dialog.current?.close()}>
            Cancel
          </Button>
          <Button look="primary" type="submit" disabled={isSending}>
            {action[isSending ? 1 : 0]}
          </Button>
        </footer>
      </form>
      {below}
    </dialog>
  );
}
