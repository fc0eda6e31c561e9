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

/** The token is renewed this long before it expires, in milliseconds, so that it cannot expire in flight. */
const MARGIN_MS = 60_000;

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

/** The token of a session, renewed when it is about to expire. */
export class TokenSource {
  #session: Session;
  #isRefused = false;
  #renewal?: Promise<void>;

  constructor(
    session: Session,
    private readonly renew: (session: Session) => Promise<Session | undefined> = ({ user, role }) =>
      developmentSession(user, role),
  ) {
    this.#session = session;
  }

  /** Discards a refused token (a restarted server may have another secret), so that the next request gets a new one. */
  markRefused() {
    this.#isRefused = true;
  }

  async fresh(): Promise<string> {
    if (this.#isRefused || Date.now() > this.#session.expiresAt - MARGIN_MS) {
      this.#renewal ??= this.#renewNow();
      await this.#renewal;
    }
    return this.#session.token;
  }

  async #renewNow() {
    this.#session = (await this.renew(this.#session)) ?? this.#session;
    this.#isRefused = false;
    this.#renewal = undefined;
  }
}
