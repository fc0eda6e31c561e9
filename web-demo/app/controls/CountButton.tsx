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
  /** The unit of the count, such as `likes`. */
  unit: string;
  count: number;
  /** Null if nobody is signed in. */
  isOn: boolean | null;
  onToggle: (on: boolean) => Promise<OperationResult>;
}

/** A switch with a count. It shakes when its action fails and is undone. */
export function CountButton({ icon: Icon, colour, label, unit, count, isOn, onToggle }: Props) {
  const button = useRef<HTMLButtonElement>(null);
  async function toggle() {
    const { error } = await onToggle(!isOn);
    if (error) shake(button.current);
  }
  return (
    <button
      ref={button}
      type="button"
      className={`${styles.button} ${styles[colour]}`}
      aria-pressed={isOn ?? false}
      aria-label={`${label}: ${exactly(count)} ${unit}`}
      onClick={toggle}
    >
      <Icon size={20} aria-hidden="true" />
      <Count value={count} />
    </button>
  );
}
