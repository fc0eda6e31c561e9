import type { ButtonHTMLAttributes, ReactNode } from "react";
import type { CountedObject, Ref } from "../entities.js";
import { type ActionState, useLike } from "./hooks.js";

interface LikeButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "children"> {
  /** The note or comment: its id, or `note:` and the app's own key. */
  of: Ref;
  /** What screen readers say before the number. */
  label?: string;
  /** The counts that the server rendered with. */
  initial?: CountedObject | undefined;
  /** What the button shows; without it, the number. */
  children?: (state: ActionState) => ReactNode;
}

/** A like button without a style: `[aria-pressed="true"]` is on. */
export function LikeButton({ of, label = "Like", initial, children, onClick, ...rest }: LikeButtonProps) {
  const state = useLike(of, initial);
  const { isOn, count, toggle } = state;
  return (
    <button
      type="button"
      aria-pressed={isOn}
      aria-label={count === undefined ? label : `${label}: ${count}`}
      {...rest}
      onClick={(event) => {
        onClick?.(event);
        if (!event.defaultPrevented) toggle();
      }}
    >
      {children ? children(state) : count}
    </button>
  );
}
