import { Gauge, Moon, Sun, SquareTerminal } from "lucide-react";
import { useEffect, useState } from "react";
import { useApi } from "../../shared/api/client";
import { type Role, developmentUsers } from "../../shared/session";
import { Avatar } from "../../shared/ui/Avatar";
import { Theme } from "../../shared/ui/theme";
import styles from "./UserMenu.module.css";

/** Who one is; a development server lets one be somebody else. Also the ways out of the feed. */
export function UserMenu({ onSwitch }: { onSwitch: (user: string) => void }) {
  const { session } = useApi();
  const [users, setUsers] = useState<{ subject: string; role: Role }[]>([]);
  useEffect(() => void developmentUsers().then(setUsers), []);
  const user = session?.user ?? "Nobody";
  const subjects = users.filter(({ role }) => role === "user").map(({ subject }) => subject);

  return (
    <div className={styles.menu}>
      <Avatar name={user} size={32} />
      <label className={styles.user}>
        <span className="only-heard">Act as</span>
        <select value={user} onChange={(event) => onSwitch(event.target.value)} disabled={subjects.length === 0}>
          {[...new Set([user, ...subjects])].map((subject) => (
            <option key={subject}>{subject}</option>
          ))}
        </select>
      </label>
      <a href="/graphiql" aria-label="GraphiQL" title="GraphiQL">
        <SquareTerminal size={19} />
      </a>
      <a href="/admin" aria-label="Operations" title="Operations">
        <Gauge size={19} />
      </a>
      <button
        aria-label="Light or dark"
        title="Light or dark"
        onClick={Theme.turn}
      >
        <Sun size={19} className="only-dark" />
        <Moon size={19} className="only-light" />
      </button>
    </div>
  );
}
