import { useRef, useState } from "react";
import { type OperationResult } from "urql";
import { Button } from "../../shared/ui/Button";
import styles from "./SwitchButton.module.css";
import { shake } from "./shake";

interface Props {
  /** With whom or what, for those who hear the page. */
  name: string;
  /** Shown while it is off, such as `Follow`. */
  off: string;
  /** Shown while it is on, such as `Following`. */
  on: string;
  /** Shown while it is on and is pointed at, such as `Unfollow`. */
  undo: string;
  /** Whether it is what the page is about; one of many in a list is quieter. */
  isMain?: boolean;
  /** Null for somebody who is not signed in. */
  isOn: boolean | null;
  onTurn: (on: boolean) => Promise<OperationResult>;
}

/**
 * A switch in words. It says how to undo only when one comes back to it: right after a click the pointer is still
 * there, and the answer to "Follow" is "Following". When what it did is taken back, it shakes.
 */
export function SwitchButton({ name, off, on, undo, isMain, isOn, onTurn }: Props) {
  const button = useRef<HTMLSpanElement>(null);
  const [isFresh, setFresh] = useState(false);

  async function turn() {
    setFresh(true);
    const { error } = await onTurn(!isOn);
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
        onClick={turn}
      >
        <span className={styles.state}>{isOn ? on : off}</span>
        {isOn && <span className={styles.undo}>{undo}</span>}
      </Button>
    </span>
  );
}
