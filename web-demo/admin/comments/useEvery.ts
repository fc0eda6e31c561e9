import { useEffect, useEffectEvent } from "react";

/** Does it again and again, while the page is visible. */
export function useEvery(milliseconds: number, work: () => void) {
  const unlessHidden = useEffectEvent(() => {
    if (!document.hidden) work();
  });
  useEffect(() => {
    const timer = setInterval(() => unlessHidden(), milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds]);
}
