import { useCallback, useRef } from "react";

/**
 * A key for a mutation that makes something. The same text gets the same key until `forget`, so that sending it again
 * after a lost answer makes nothing twice; another text gets another one, as the server asks.
 */
export function useRetryKey() {
  const last = useRef<{ text: string; key: string }>(undefined);
  const keyOf = useCallback((text: string): string => {
    if (last.current?.text !== text) last.current = { text, key: randomKey() };
    return last.current.key;
  }, []);
  const forget = useCallback(() => (last.current = undefined), []);
  return { keyOf, forget };
}

/** 128 random bits. `crypto.randomUUID` exists on https pages and the own machine only. */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
