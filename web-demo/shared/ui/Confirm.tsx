import { Button } from "./Button";
import styles from "./Confirm.module.css";
import { Dialog } from "./Dialog";

interface Props {
  /** The question. */
  title: string;
  /** What becomes of it. */
  text: string;
  /** What the button says, such as `Delete`. */
  action: string;
  onYes: () => void;
  /** In any case, after `onYes`. */
  onClose: () => void;
}

/** Asks before something that cannot be undone. */
export function Confirm({ title, text, action, onYes, onClose }: Props) {
  const close = (answer: string) => {
    if (answer === "yes") onYes();
    onClose();
  };
  return (
    <Dialog title={title} onClose={close}>
      <p className={styles.text}>{text}</p>
      <div className={styles.buttons}>
        <Button type="submit" value="" autoFocus>
          Cancel
        </Button>
        <Button type="submit" value="yes" className={styles.yes}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
