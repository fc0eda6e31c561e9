import { type ReactNode } from "react";
import styles from "./WideTabs.module.css";

interface Props<Value> {
  /** What is chosen between, for those who hear the page. */
  label: string;
  /** `above` stands over the text: a number or an icon. */
  options: { value: Value; text: string; above: ReactNode }[];
  value: Value;
  onChange: (value: Value) => void;
}

/** One of a few, as wide as the page. Columns of equal width: a number that grows moves nothing beside it. */
export function WideTabs<Value>({ label, options, value, onChange }: Props<Value>) {
  return (
    <div role="group" aria-label={label} className={styles.tabs}>
      {options.map((option) => (
        <button
          key={String(option.value)}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          <span>{option.text}</span>
          <span className={styles.above}>{option.above}</span>
        </button>
      ))}
    </div>
  );
}
