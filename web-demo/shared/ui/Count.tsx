import { useEffect, useRef } from "react";
import styles from "./Count.module.css";

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const exact = new Intl.NumberFormat("en");

/** A short form: 12,345 as `12.3K`. */
export const forPeople = (count: number): string => compact.format(count);
export const exactly = (count: number): string => exact.format(count);

/** How long a change moves, in milliseconds. */
const MOVE_MS = 260;

/**
 * A count that slides when it changes. A change during the animation shows without one, because under load hundreds
 * would move at once. Hover shows the exact value. Digits have equal widths, so that a change does not shift the
 * text beside it.
 */
export function Count({ value }: { value: number }) {
  const shown = useRef<HTMLSpanElement>(null);
  const before = useRef(value);
  const moved = useRef<Animation>(undefined);

  useEffect(() => {
    if (before.current === value) return;
    const rises = value > before.current;
    before.current = value;
    if (moved.current?.playState === "running") return;
    moved.current = shown.current?.animate(
      [
        { transform: `translateY(${rises ? "0.5em" : "-0.5em"})`, opacity: 0.2 },
        { transform: "none", opacity: 1 },
      ],
      { duration: reducedMotion.matches ? 0 : MOVE_MS, easing: "cubic-bezier(0.2, 0.8, 0.2, 1)" },
    );
  }, [value]);

  return (
    <span ref={shown} className={styles.count} title={exactly(value)} data-count={value}>
      {forPeople(value)}
    </span>
  );
}

const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
