import { useCallback, useRef } from "react";

/**
 * An idempotency key for a creating mutation. The same text keeps its key until `forget`, so that a retry after a lost
 * response creates nothing twice; another text gets another key, as the server requires.
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

/** 128 random bits. `crypto.randomUUID` exists in secure contexts only (https, localhost). */
const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
