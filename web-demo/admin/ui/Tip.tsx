import { Info } from "lucide-react";
import { memo, useId, useRef } from "react";
import { type Explanation } from "../panels/explained";
import styles from "./Tip.module.css";

/** Distance of the popover from the button and from the window's edge, in pixels. */
const DISTANCE = 8;

/**
 * Explains a number: its meaning, its normal range and what to do. Opens on hover, focus, touch or click, closes with
 * Escape. A popover is never clipped, and while hidden it still describes the button.
 */
export const Tip = memo(function Tip({ of: { title, what, normal, act } }: { of: Explanation }) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const popover = useRef<HTMLSpanElement>(null);

  function open() {
    popover.current?.showPopover();
    place(popover.current!, button.current!);
  }
  const close = () => popover.current?.hidePopover();

  return (
    <>
      <button
        ref={button}
        type="button"
        className={styles.button}
        aria-label={`About: ${title}`}
        aria-describedby={id}
        onPointerEnter={(event) => event.pointerType === "mouse" && open()}
        onPointerLeave={(event) => event.pointerType === "mouse" && close()}
        onFocus={open}
        onBlur={close}
        onClick={open}
        onKeyDown={(event) => event.key === "Escape" && close()}
      >
        <Info size={14} aria-hidden="true" />
      </button>
      <span ref={popover} id={id} role="tooltip" popover="manual" className={styles.tip}>
        <strong>{title}</strong>
        <span>{what}</span>
        <span>
          <b>Normal:</b> {normal}
        </span>
        <span>
          <b>If not:</b> {act}
        </span>
      </span>
    </>
  );
});

/** Below the button, or above it where there is no room; inside the window. */
function place(tip: HTMLElement, button: HTMLElement) {
  const { left, right, top, bottom } = button.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const fitsBelow = bottom + DISTANCE + height < innerHeight;
  const wantedLeft = (left + right - width) / 2;
  tip.style.top = `${fitsBelow ? bottom + DISTANCE : Math.max(DISTANCE, top - DISTANCE - height)}px`;
  tip.style.left = `${Math.max(DISTANCE, Math.min(wantedLeft, document.documentElement.clientWidth - width - DISTANCE))}px`;
}
