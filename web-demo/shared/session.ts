/** A signed-in user: a name and a token. */
export interface Session {
  /** The token's subject. */
  user: string;
  role?: Role;
  token: string;
  /** When the token expires, in milliseconds since 1970. */
  expiresAt: number;
  /** A note to show first, if the server names one. */
  noteId?: string;
}

export type Role = "user" | "moderator";

/**
 * A session of a development server; `undefined` if the server issues none, as in production.
 * Without `user`, the server chooses one.
 */
export async function developmentSession(user?: string, role: Role = "user"): Promise<Session | undefined> {
  const query = new URLSearchParams(user ? { user, role } : { role });
  const answer = await fetch(`/dev/token?${query}`).catch(() => undefined);
  if (answer?.status !== 200) return undefined;
  const { expiresAt, ...session } = await answer.json();
  return { ...session, expiresAt: Date.parse(expiresAt) };
}

/** The users that a development server offers. */
export async function developmentUsers(): Promise<{ subject: string; role: Role }[]> {
  const answer = await fetch("/dev/users").catch(() => undefined);
  return answer?.status === 200 ? (await answer.json()).users : [];
}

/** The token of a session, and then a new one each time: for plaudit-client, which says when it needs another. */
export function tokenOf(session: Session): () => Promise<string> {
  let next: () => Promise<string> = async () => {
    next = async () => (await developmentSession(session.user, session.role))?.token ?? session.token;
    return session.token;
  };
  return () => next();
}
