/** The viewer's token: asked for when it is needed, renewed before it ends. */

import { PlauditError } from "./errors.js";

/** A token of the viewer, or where to get one; nothing for who is not signed in. */
export type Token = GivenToken | (() => GivenToken | Promise<GivenToken>);
export type GivenToken = string | undefined | null;

/** A token is renewed in the last part of its life, at most a minute before its end. */
const LAST_PART = 0.2;
const LONGEST_MARGIN_MS = 60_000;
/** Whatever a token says of its life, it is not renewed more often. */
const SHORTEST_LIFE_MS = 5_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export type Tokens = ReturnType<typeof createTokens>;

export function createTokens(source: Token) {
  let token: string | undefined;
  let asking: Promise<void> | undefined;
  /** By `performance.now()`, which no change of the device's clock moves. */
  let renewAt = 0;
  let isRefused = true;

  async function ask() {
    try {
      token = (typeof source === "function" ? await source() : source) ?? undefined;
    } catch (error) {
      throw new PlauditError("TOKEN_FAILED", `token() failed: ${error}`, { retryable: true });
    } finally {
      asking = undefined;
    }
    isRefused = false;
    renewAt = performance.now() + usedLife(token);
  }

  /** Milliseconds until the token is to be renewed. */
  const renewIn = () => Math.min(renewAt - performance.now(), LONGEST_TIMER_MS);

  return {
    /** Whether another one could be had. */
    isRenewable: typeof source === "function",
    /** The token that was given last. */
    latest: () => token,
    renewIn,
    /** The server refused the latest token, or it has ended: the next one is another. */
    refuse() {
      isRefused = true;
    },
    async fresh(): Promise<string | undefined> {
      if (isRefused || renewIn() <= 0) await (asking ??= ask());
      return token;
    },
  };
}

/** Milliseconds until a token that was just given is renewed; without end if it does not say when it ends. */
function usedLife(token = ""): number {
  const { iat, exp } = claims(token);
  // By the server's clock alone, as the device's may be wrong. Without `iat` only the device's is left.
  const life = (exp! - (iat ?? Date.now() / 1_000)) * 1_000;
  // If the device's clock is ahead, the server will say when the token ends.
  if (!(life > 0)) return Infinity;
  // Chance, so that pages which were opened at once do not renew at once.
  const margin = Math.min(life * LAST_PART, LONGEST_MARGIN_MS) * (0.5 + Math.random() / 2);
  return Math.max(life - margin, SHORTEST_LIFE_MS);
}

function claims(token: string): { iat?: number; exp?: number } {
  try {
    return JSON.parse(atob(token.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/")));
  } catch {
    return {}; // a token of another form
  }
}
