type Variables = Record<string, unknown> | undefined;

/**
 * A subscription that goes on where it stopped: the socket reads `payload` again whenever it reconnects, and then it
 * names the last position that came (schema/PROTOCOL.md, "Lists"). Subscriptions without positions stay as they are.
 */
export function resumable(query: string, variables: Variables) {
  let after: unknown;
  return {
    payload: {
      query,
      get variables() {
        return after === undefined ? variables : { ...variables, after };
      },
    },
    /** Remembers the position of a message. */
    received({ data }: { data?: Record<string, unknown> | null }) {
      for (const value of Object.values(data ?? {})) {
        after = (value as { position?: unknown } | null)?.position ?? after;
      }
    },
  };
}
