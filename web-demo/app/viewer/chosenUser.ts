import { type Role, type Session, developmentSession } from "../../shared/session";

/** Session storage keys of the tab's user: the name and the role, never a token. */
const USER = "plaudit.user";
const ROLE = "plaudit.role";

/** A session of the user that this tab used last, or of the server's default user. */
export async function chosenSession(): Promise<Session | undefined> {
  const user = sessionStorage.getItem(USER) ?? undefined;
  const role = sessionStorage.getItem(ROLE) === "moderator" ? "moderator" : "user";
  return (await developmentSession(user, role)) ?? (await developmentSession());
}

/** Stores the tab's user; returns a session of that user. */
export async function switchUser(user: string, role: Role): Promise<Session | undefined> {
  sessionStorage.setItem(USER, user);
  sessionStorage.setItem(ROLE, role);
  return developmentSession(user, role);
}
