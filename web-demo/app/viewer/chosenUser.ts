import { type Session, developmentSession } from "../../shared/session";

/** Session storage key of the tab's user: the name, never a token. */
const KEY = "plaudit.user";

/** A session of the user that this tab used last, or of the server's default user. */
export async function chosenSession(): Promise<Session | undefined> {
  const user = sessionStorage.getItem(KEY) ?? undefined;
  return (await developmentSession(user)) ?? (await developmentSession());
}

/** Stores the tab's user; returns a session of that user. */
export async function switchUser(user: string): Promise<Session | undefined> {
  sessionStorage.setItem(KEY, user);
  return developmentSession(user);
}
