import { useEffect, useRef } from "react";
import styles from "./Count.module.css";

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const exact = new Intl.NumberFormat("en");

/** 12,345 as people say it: `12.3K`. */
export const forPeople = (count: number): string => compact.format(count);
export const exactly = (count: number): string => exact.format(count);

/** How long a change moves, in milliseconds. */
const MOVE_MS = 260;

/**
 * A total that moves gently: a change slides in from where it goes. One that comes while the last still moves, shows
 * without: under a storm, hundreds would move at once. Its exact value shows on hover. The width is that of its
 * digits, which are all equally wide, so a change moves nothing else.
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
