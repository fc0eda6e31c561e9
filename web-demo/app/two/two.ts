import { type Session, developmentSession, developmentUsers } from "../../shared/session";
import { type Side } from "./Stopwatch";

/** Sessions of the viewer and of the first other development user. Undefined if the server issues no tokens. */
export async function twoSessions(self: string | undefined): Promise<Record<Side, Session> | undefined> {
  const users = await developmentUsers();
  const subjects = users.filter(({ role }) => role === "user").map(({ subject }) => subject);
  const left = await developmentSession(self ?? subjects[0]);
  // If the server offers one user only, both sides are that user.
  const right = await developmentSession(subjects.find((subject) => subject !== left?.user));
  return left && right && { left, right };
}
