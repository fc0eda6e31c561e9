/** Subscriptions of lists go on where they stopped. */

import type { Payload, Result } from "./connection.js";

/**
 * A payload and a callback, which the caller calls with each message. When the operation starts again, the payload asks
 * for what came after the last position (schema/PROTOCOL.md, "Lists") or page (`events`). Others stay as they are.
 */
export function resumable(payload: Payload): [Payload, (result: Result) => void] {
  let after: unknown;
  const resumed = {
    ...payload,
    get variables() {
      return after === undefined ? payload.variables : { ...payload.variables, after };
    },
  };
  return [
    resumed,
    ({ data }) => {
      for (const value of Object.values(data ?? {})) {
        const { position, pageInfo } = (value ?? {}) as { position?: unknown; pageInfo?: { endCursor?: unknown } };
        after = position ?? pageInfo?.endCursor ?? after;
      }
    },
  ];
}
