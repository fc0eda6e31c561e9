import { useEffect, useState } from "react";

/** The value once it has been stable for `ms`: a short rise and fall does not show. */
export function useSettled(value: number, ms: number): number {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
