import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import styles from "./Dialog.module.css";

interface Props {
  title: string;
  /** The dialog was closed by its button, by Escape or by a click outside. `answer` is the value of the button. */
  onClose: (answer: string) => void;
  children: ReactNode;
}

/** The first control of the content. */
const FIRST = "header ~ * :is(select, textarea, button)";

/** A modal dialog, the browser's own element: it traps the focus and restores it. */
export function Dialog({ title, onClose, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    dialog.current?.showModal();
    // By default the button that closes it would have the focus.
    dialog.current?.querySelector<HTMLElement>(FIRST)?.focus();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={styles.dialog}
      aria-labelledby={titleId}
      closedby="any"
      onClose={({ currentTarget }) => onClose(currentTarget.returnValue)}
    >
      <form method="dialog">
        <header className={styles.head}>
          <h2 id={titleId}>{title}</h2>
          <button className={styles.close} aria-label="Close" value="">
            <X size={20} />
          </button>
        </header>
        {children}
      </form>
    </dialog>
  );
}
