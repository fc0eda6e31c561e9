import { type Session } from "../../shared/session";

/**
 * The session of a pasted token. Its claims are read for display only; the server verifies it. `undefined` if the text
 * is not a token.
 */
export function pastedSession(text: string): Session | undefined {
  const token = text.trim().replace(/^Bearer\s+/i, "");
  const claims = claimsOf(token);
  if (typeof claims?.sub !== "string") return undefined;
  const expiresAt = typeof claims.exp === "number" ? claims.exp * 1000 : Infinity;
  return { user: claims.sub, role: "moderator", token, expiresAt };
}

function claimsOf(token: string): Record<string, unknown> | undefined {
  const [, payload, signature] = token.split(".");
  if (!payload || !signature) return undefined;
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
