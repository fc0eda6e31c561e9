import { useRef, useState } from "react";
import { type OperationResult } from "urql";
import { Button } from "../../shared/ui/Button";
import styles from "./SwitchButton.module.css";
import { shake } from "./shake";

interface Props {
  /** The object of the action, for screen readers. */
  name: string;
  /** Shown while it is off, such as `Follow`. */
  off: string;
  /** Shown while it is on, such as `Following`. */
  on: string;
  /** Shown while it is on and has the pointer, such as `Unfollow`. */
  undo: string;
  /** Whether it is the page's main action; in lists it is less prominent. */
  isMain?: boolean;
  /** Null if nobody is signed in. */
  isOn: boolean | null;
  onToggle: (on: boolean) => Promise<OperationResult>;
}

/**
 * A switch with a text. It offers to undo only when the pointer returns: right after a click the pointer is still
 * there, and "Following" confirms "Follow". It shakes when its action fails and is undone.
 */
export function SwitchButton({ name, off, on, undo, isMain, isOn, onToggle }: Props) {
  const button = useRef<HTMLSpanElement>(null);
  const [isFresh, setFresh] = useState(false);

  async function toggle() {
    setFresh(true);
    const { error } = await onToggle(!isOn);
    if (error) shake(button.current);
  }

  const look = [styles.switch, !isOn && !isMain && styles.calm, isOn && !isFresh && styles.undoable]
    .filter(Boolean)
    .join(" ");
  return (
    <span ref={button} className={styles.place} onPointerLeave={() => setFresh(false)} onBlur={() => setFresh(false)}>
      <Button
        look={isOn ? "plain" : "primary"}
        className={look}
        aria-pressed={isOn ?? false}
        aria-label={`${isOn ? on : off} ${name}`}
        onClick={toggle}
      >
        <span className={styles.state}>{isOn ? on : off}</span>
        {isOn && <span className={styles.undo}>{undo}</span>}
      </Button>
    </span>
  );
}
