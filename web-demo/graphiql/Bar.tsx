import { Columns2, Gauge, House } from "lucide-react";
import { Logo } from "../shared/ui/Logo";
import styles from "./Bar.module.css";

/** The bar above GraphiQL: the logo and links to the other pages. */
export function Bar() {
  return (
    <header className={styles.bar}>
      <a href="/" className={styles.logo} aria-label="Plaudit, home">
        <Logo size={24} />
        Plaudit
      </a>
      <h1>GraphiQL</h1>
      <nav aria-label="Pages" className={styles.ways}>
        <a href="/">
          <House size={17} aria-hidden="true" />
          <span>Feed</span>
        </a>
        <a href="/two">
          <Columns2 size={17} aria-hidden="true" />
          <span>Side by side</span>
        </a>
        <a href="/admin">
          <Gauge size={17} aria-hidden="true" />
          <span>Operations</span>
        </a>
      </nav>
    </header>
  );
}
