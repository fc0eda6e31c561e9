import { CloudOff, RotateCw } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { type CombinedError } from "urql";
import { useConnection } from "../api/client";
import { Button } from "./Button";
import styles from "./States.module.css";

/** Grey placeholders while content is loading. */
export function Loading({ rows = 3 }: { rows?: number }) {
  return (
    <div role="status" className={styles.loading}>
      <span className="only-heard">Loading…</span>
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={styles.shape} aria-hidden="true">
          <i className={styles.round} />
          <i className={styles.line} />
          <i className={styles.block} />
        </div>
      ))}
    </div>
  );
}

/** An empty list, with an explanation. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={styles.state}>
      <h2>{title}</h2>
      {children && <p>{children}</p>}
    </div>
  );
}

/** An error in a sentence, with a retry button; it retries by itself when the connection is back. */
export function Problem({ error, retry }: { error: CombinedError; retry: () => void }) {
  const { state } = useConnection();
  const before = useRef(state);
  useEffect(() => {
    if (state === "open" && before.current !== "open") retry();
    before.current = state;
  }, [state, retry]);

  return (
    <div role="alert" className={styles.state}>
      <CloudOff aria-hidden="true" />
      <h2>{sentence(error)}</h2>
      <Button onClick={retry}>
        <RotateCw size={16} aria-hidden="true" /> Try again
      </Button>
    </div>
  );
}

/** The text of an error for users. */
export function sentence(error: CombinedError): string {
  if (error.networkError) return navigator.onLine ? "The server does not answer." : "You are offline.";
  const first = error.graphQLErrors[0];
  switch (first?.extensions.code) {
    case "RATE_LIMITED":
      return `Too many requests. Wait ${first.extensions.retryAfter ?? "a few"} seconds.`;
    case "RETRY_LATER":
      return "The service is busy. Try again in a moment.";
    case "SUSPENDED":
      return "Your account is suspended; this was refused.";
    case "UNAUTHENTICATED":
      return "Sign in first.";
    default:
      return first?.message ?? "Something went wrong.";
  }
}
