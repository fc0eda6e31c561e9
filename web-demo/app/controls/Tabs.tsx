import { type ReactNode } from "react";
import { abbreviated } from "../../shared/ui/Count";
import pills from "./Tabs.module.css";
import wide from "./WideTabs.module.css";

interface Props<Value> {
  /** The name of the choice, for screen readers. */
  label: string;
  /** `above` is shown above the text of a wide tab: a number or an icon. */
  options: { value: Value; text: string; badge?: number; above?: ReactNode }[];
  value: Value;
  onChange: (value: Value) => void;
  /** Columns of equal width across the page: a growing number does not move its neighbours. */
  isWide?: boolean;
}

/** A choice of one option. */
export function Tabs<Value>({ label, options, value, onChange, isWide = false }: Props<Value>) {
  return (
    <div role="group" aria-label={label} className={isWide ? wide.tabs : pills.tabs}>
      {options.map((option) => (
        <button
          key={String(option.value)}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {isWide ? <span>{option.text}</span> : option.text}
          {option.above !== undefined && <span className={wide.above}>{option.above}</span>}
          {!!option.badge && (
            <span className={pills.badge}>
              {abbreviated(option.badge)}
              <span className="only-heard"> unread</span>
            </span>
          )}
        </button>
      ))}
    </div>
  );
}
