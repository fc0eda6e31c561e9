import { useEffect, useState } from "react";

/** The number that held for `ms`: what goes up and comes down at once is never shown. */
export function useSettled(value: number, ms: number): number {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
