import { KeyRound } from "lucide-react";
import { type FormEvent, useId, useState } from "react";
import { type Session } from "../../shared/session";
import { Button } from "../../shared/ui/Button";
import { TopBar } from "../layout/TopBar";
import styles from "./SignIn.module.css";
import { pastedSession } from "./pastedSession";

interface Props {
  /** Why a new sign-in is needed. */
  problem?: string;
  onSession: (session: Session) => void;
}

/** Accepts a token. It stays in the page's memory only: a reload discards it. */
export function SignIn({ problem, onSession }: Props) {
  const id = useId();
  const [isUnreadable, setUnreadable] = useState(false);
  const message = isUnreadable ? "That is no token: a token has three parts, separated by dots." : problem;

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const text = new FormData(event.currentTarget).get("token");
    const session = pastedSession(String(text));
    setUnreadable(!session);
    if (session) onSession(session);
  }

  return (
    <>
      <TopBar />
      <main id="main" tabIndex={-1} className={styles.page}>
        <form className={styles.form} onSubmit={submit}>
          <KeyRound size={28} aria-hidden="true" />
          <h2>Sign in as a moderator</h2>
          {message && (
            <p role="alert" className={styles.problem}>
              {message}
            </p>
          )}
          <label htmlFor={`${id}-token`}>Token</label>
          <input
            id={`${id}-token`}
            name="token"
            type="password"
            required
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            aria-describedby={`${id}-how`}
            aria-invalid={isUnreadable || undefined}
          />
          <Button look="primary" type="submit">
            Sign in
          </Button>
          <div id={`${id}-how`} className={styles.how}>
            <p>Create a token on the server with</p>
            <code>plaudit token --user ops --role moderator</code>
            <p>The page keeps it in memory only; a reload discards it.</p>
          </div>
        </form>
      </main>
    </>
  );
}
