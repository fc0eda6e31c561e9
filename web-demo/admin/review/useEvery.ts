import { useEffect, useEffectEvent } from "react";

/** Repeats a task while the page is visible. */
export function useEvery(milliseconds: number, work: () => void) {
  const unlessHidden = useEffectEvent(() => {
    if (!document.hidden) work();
  });
  useEffect(() => {
    const timer = setInterval(() => unlessHidden(), milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds]);
}
