import { type ReactNode } from "react";
import { HotNow } from "../rankings/HotNow";
import { ConnectionMark } from "./ConnectionMark";
import { Nav } from "./Nav";
import styles from "./Shell.module.css";
import { UserMenu } from "./UserMenu";

/** What surrounds every page: the ways to go on its left, what is hot on its right; on a phone a bar below. */
export function Shell({ children, onSwitch }: { children: ReactNode; onSwitch: (user: string) => void }) {
  return (
    <div className={styles.shell}>
      <a href="#main" className={styles.skip}>
        Skip to the page
      </a>
      <div className={styles.side}>
        <Nav />
        <section className={styles.foot} aria-label="You">
          <ConnectionMark />
          <UserMenu onSwitch={onSwitch} />
        </section>
      </div>
      <main id="main" className={styles.main} tabIndex={-1}>
        {children}
      </main>
      <aside className={styles.aside} aria-label="Beside the page">
        <HotNow />
      </aside>
    </div>
  );
}
