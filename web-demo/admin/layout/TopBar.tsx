import { House, LogOut, Moon, SquareTerminal, Sun } from "lucide-react";
import { Logo } from "../../shared/ui/Logo";
import { SkipLink } from "../../shared/ui/SkipLink";
import { Theme } from "../../shared/ui/theme";
import { Answering } from "./Answering";
import styles from "./TopBar.module.css";

interface Props {
  /** Undefined: nobody is signed in. */
  user?: string;
  onLeave?: () => void;
}

/** Title, the process that answers, and links. */
export function TopBar({ user, onLeave }: Props) {
  return (
    <header className={styles.bar}>
      <SkipLink />
      <a href="/" className={styles.logo} aria-label="Plaudit, home">
        <Logo size={26} />
      </a>
      <h1>Operations</h1>
      {user && <Answering />}
      <nav aria-label="Pages" className={styles.ways}>
        <a href="/">
          <House size={18} aria-hidden="true" />
          <span>Feed</span>
        </a>
        <a href="/graphiql">
          <SquareTerminal size={18} aria-hidden="true" />
          <span>GraphiQL</span>
        </a>
        <button type="button" aria-label="Light or dark" title="Light or dark" onClick={Theme.toggle}>
          <Sun size={18} className="only-dark" />
          <Moon size={18} className="only-light" />
        </button>
        {user && (
          <button type="button" onClick={onLeave} aria-label={`Sign out ${user}`} title={`Sign out ${user}`}>
            <LogOut size={18} aria-hidden="true" />
          </button>
        )}
      </nav>
    </header>
  );
}
