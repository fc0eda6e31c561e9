import { type ReactNode } from "react";
import { type Role } from "../../shared/session";
import { SkipLink } from "../../shared/ui/SkipLink";
import { useDrawer } from "../drawer/DrawerProvider";
import { HotNow } from "../rankings/HotNow";
import { StormPanel } from "../storm/StormPanel";
import { Suspended } from "../suspension/Suspended";
import { ConnectionMark } from "./ConnectionMark";
import { Nav } from "./Nav";
import styles from "./Shell.module.css";
import { UserMenu } from "./UserMenu";
import { useTop } from "./useTop";

/** The frame of every page: navigation on the left, hot notes on the right; on a phone a bar below. */
export function Shell({ children, onSwitch }: { children: ReactNode; onSwitch: (user: string, role: Role) => void }) {
  const { isOpen } = useDrawer();
  useTop();
  return (
    <div className={styles.shell} data-curtain={isOpen}>
      <SkipLink />
      <header className={styles.side}>
        <Nav />
        <div className={styles.foot}>
          <ConnectionMark />
          <UserMenu onSwitch={onSwitch} />
        </div>
      </header>
      <main id="main" className={styles.main} tabIndex={-1}>
        <Suspended />
        {children}
      </main>
      <aside className={styles.aside} aria-label="Beside the page">
        <HotNow />
        <StormPanel />
      </aside>
    </div>
  );
}
