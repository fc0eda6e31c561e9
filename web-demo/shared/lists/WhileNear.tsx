import { type ReactNode, type RefObject, useRef } from "react";
import { useInView } from "./useInView";

/** Events per second and object in a list; people do not read faster. */
export const LIST_RATE = 5;

interface Props {
  /** Renders nothing and keeps counts live while it is mounted: a component of its own, so that an event renders no list. */
  listener: ReactNode;
  as?: "div" | "ul";
  children: ReactNode;
}

/** Part of a list with a subscription while it is near the screen. */
export function WhileNear({ listener, as: Place = "div", children }: Props) {
  const place = useRef<HTMLElement>(null);
  const isNear = useInView(place, "200px");
  return (
    <Place ref={place as RefObject<HTMLDivElement & HTMLUListElement | null>}>
      {isNear && listener}
      {children}
    </Place>
  );
}
