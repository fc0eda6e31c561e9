import { Button } from "./Button";
import styles from "./Confirm.module.css";
import { Dialog } from "./Dialog";

interface Props {
  /** The question. */
  title: string;
  /** The consequence. */
  text: string;
  /** Text of the button, such as `Delete`. */
  action: string;
  onYes: () => void;
  /** Called in any case, after `onYes`. */
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
        <Button type="submit" value="">
          Cancel
        </Button>
        <Button type="submit" value="yes" className={styles.yes}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
