import { forPeople } from "../../shared/ui/Count";
import styles from "./Tabs.module.css";

interface Props<Value> {
  /** What is chosen between, for those who hear the page. */
  label: string;
  options: { value: Value; text: string; badge?: number }[];
  value: Value;
  onChange: (value: Value) => void;
}

/** One of a few. */
export function Tabs<Value>({ label, options, value, onChange }: Props<Value>) {
  return (
    <div role="group" aria-label={label} className={styles.tabs}>
      {options.map((option) => (
        <button
          key={String(option.value)}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.text}
          {!!option.badge && (
            <span className={styles.badge}>
              {forPeople(option.badge)}
              <span className="only-heard"> unread</span>
            </span>
          )}
        </button>
      ))}
    </div>
  );
}
