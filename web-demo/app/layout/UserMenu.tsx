import { Columns2, Gauge, Moon, SquareTerminal, Sun } from "lucide-react";
import { Link } from "wouter";
import { useApi } from "../../shared/api/client";
import { type Role } from "../../shared/session";
import { DrawerButton } from "../drawer/DrawerButton";
import { Theme } from "../../shared/ui/theme";
import styles from "./UserMenu.module.css";
import { UserSwitch } from "../viewer/UserSwitch";

/** The current user, and links to the other pages. */
export function UserMenu({ onSwitch }: { onSwitch: (user: string, role: Role) => void }) {
  const { session } = useApi();

  return (
    <div className={styles.menu}>
      <UserSwitch
        label="Act as"
        user={session?.user ?? "Nobody"}
        className={styles.user}
        withModerators
        onSwitch={onSwitch}
      />
      <Link href="/two" className={styles.onPhone} aria-label="Side by side" title="Side by side">
        <Columns2 size={19} />
      </Link>
      <DrawerButton />
      <a href="/graphiql" aria-label="GraphiQL" title="GraphiQL">
        <SquareTerminal size={19} />
      </a>
      <a href="/admin" aria-label="Operations" title="Operations">
        <Gauge size={19} />
      </a>
      <button aria-label="Light or dark" title="Light or dark" onClick={Theme.toggle}>
        <Sun size={19} className="only-dark" />
        <Moon size={19} className="only-light" />
      </button>
    </div>
  );
}
