import { type LucideIcon } from "lucide-react";
import { type ButtonHTMLAttributes } from "react";
import styles from "./IconButton.module.css";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon: LucideIcon;
  /** What it does; also shown while the pointer is on it. */
  label: string;
  /** Whether it takes something away. */
  isDangerous?: boolean;
  size?: number;
}

/** A round button with an icon. */
export function IconButton({ icon: Icon, label, isDangerous = false, size = 18, ...rest }: Props) {
  return (
    <button
      type="button"
      className={`${styles.button} ${isDangerous ? styles.danger : ""}`}
      aria-label={label}
      title={label}
      {...rest}
    >
      <Icon size={size} aria-hidden="true" />
    </button>
  );
}
