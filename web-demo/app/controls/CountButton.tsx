import { type LucideIcon } from "lucide-react";
import { useRef } from "react";
import { type OperationResult } from "urql";
import { Count, exactly } from "../../shared/ui/Count";
import styles from "./CountButton.module.css";
import { shake } from "./shake";

interface Props {
  icon: LucideIcon;
  colour: "like" | "collect" | "talk";
  /** Name of the action, such as `Like`. */
  label: string;
  /** What is counted, such as `likes`. */
  unit: string;
  count: number;
  /** Null for somebody who is not signed in. */
  isOn: boolean | null;
  onTurn: (on: boolean) => Promise<OperationResult>;
}

/** A switch with a count. It shakes when its action failed and was undone. */
export function CountButton({ icon: Icon, colour, label, unit, count, isOn, onTurn }: Props) {
  const button = useRef<HTMLButtonElement>(null);
  async function turn() {
    const { error } = await onTurn(!isOn);
    if (error) shake(button.current);
  }
  return (
    <button
      ref={button}
      type="button"
      className={`${styles.button} ${styles[colour]}`}
      aria-pressed={isOn ?? false}
      aria-label={`${label}: ${exactly(count)} ${unit}`}
      onClick={turn}
    >
      <Icon size={20} aria-hidden="true" />
      <Count value={count} />
    </button>
  );
}
