import { useState } from "react";
import { type Session } from "../shared/session";
import { Operations } from "./Operations";
import { SignIn } from "./signin/SignIn";

/** The admin page: a sign-in, unless the server issues a development token, then the dashboard. */
export function App({ first }: { first: Session | undefined }) {
  const [session, setSession] = useState(first);
  const [problem, setProblem] = useState<string>();

  function leave(problem?: string) {
    setProblem(problem);
    setSession(undefined);
  }

  return session ? (
    <Operations key={session.token} session={session} onLeave={leave} />
  ) : (
    <SignIn problem={problem} onSession={setSession} />
  );
}
