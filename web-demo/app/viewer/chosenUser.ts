import { type Session, developmentSession } from "../../shared/session";

/** Under this key a tab keeps whom it acts as: the name alone, never a token. */
const KEY = "plaudit.user";

/** The session of whom this tab acted as last, or of whom the server proposes. */
export async function chosenSession(): Promise<Session | undefined> {
  const chosen = sessionStorage.getItem(KEY) ?? undefined;
  return (await developmentSession(chosen)) ?? (await developmentSession());
}

export async function choose(user: string): Promise<Session | undefined> {
  sessionStorage.setItem(KEY, user);
  return developmentSession(user);
}
