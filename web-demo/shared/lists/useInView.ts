import { type RefObject, useEffect, useState } from "react";

/** Whether an element is on the screen, or within `margin` of it. */
export function useInView(ref: RefObject<Element | null>, margin = "0px"): boolean {
  const [isInView, setInView] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => setInView(entry!.isIntersecting), { rootMargin: margin });
    if (ref.current) observer.observe(ref.current);
    return () => observer.disconnect();
  }, [ref, margin]);
  return isInView;
}
