import { type Session, developmentSession, developmentUsers } from "../../shared/session";
import { type Side } from "./Stopwatch";

/** Two users, each with a session: oneself and the first other one. Nobody where no sessions are handed out. */
export async function twoSessions(self: string | undefined): Promise<Record<Side, Session> | undefined> {
  const users = await developmentUsers();
  const subjects = users.filter(({ role }) => role === "user").map(({ subject }) => subject);
  const left = await developmentSession(self ?? subjects[0]);
  // An older server hands out one user alone; then both sides are that one.
  const right = await developmentSession(subjects.find((subject) => subject !== left?.user));
  return left && right && { left, right };
}
