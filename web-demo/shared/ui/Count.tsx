import { useEffect, useRef } from "react";
import styles from "./Count.module.css";

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const exact = new Intl.NumberFormat("en");

/** A short form: 12,345 as `12.3K`. */
export const abbreviated = (count: number): string => compact.format(count);
export const exactly = (count: number): string => exact.format(count);

/** Length of the animation of a change, in milliseconds. */
const MOVE_MS = 260;

/**
 * A count that slides when it changes. A change during the animation shows without one, because under load hundreds
 * of counts would move at once. Hover shows the exact value. Digits have equal widths, so that a change does not shift
 * the text beside it.
 */
export function Count({ value }: { value: number }) {
  const element = useRef<HTMLSpanElement>(null);
  const before = useRef(value);
  const animation = useRef<Animation>(undefined);

  useEffect(() => {
    if (before.current === value) return;
    const rises = value > before.current;
    before.current = value;
    if (animation.current?.playState === "running") return;
    animation.current = element.current?.animate(
      [
        { transform: `translateY(${rises ? "0.5em" : "-0.5em"})`, opacity: 0.2 },
        { transform: "none", opacity: 1 },
      ],
      { duration: reducedMotion.matches ? 0 : MOVE_MS, easing: "cubic-bezier(0.2, 0.8, 0.2, 1)" },
    );
  }, [value]);

  return (
    <span ref={element} className={styles.count} title={exactly(value)} data-count={value}>
      {abbreviated(value)}
    </span>
  );
}

const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
