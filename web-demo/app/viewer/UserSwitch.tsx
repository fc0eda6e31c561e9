import { type Role } from "../../shared/session";
import { Avatar } from "../../shared/ui/Avatar";
import { useDevelopmentUsers } from "./useDevelopmentUsers";
import { useViewer } from "./useViewer";

interface Props {
  /** Label for screen readers. */
  label: string;
  /** Subject of the current user. */
  user: string;
  className?: string;
  /** Whether moderators are offered, too. */
  withModerators?: boolean;
  onSwitch: (user: string, role: Role) => void;
}

/** Shows the current user; with a development server it switches users. */
export function UserSwitch({ label, user, className, withModerators = false, onSwitch }: Props) {
  const viewer = useViewer();
  const users = useDevelopmentUsers().filter(({ role }) => withModerators || role === "user");
  const roleOf = (subject: string): Role => users.find((one) => one.subject === subject)?.role ?? "user";
  const subjects = new Set([user, ...users.map(({ subject }) => subject)]);
  return (
    <>
      <Avatar name={viewer?.name ?? user} size={32} />
      <label className={className}>
        <span className="only-heard">{label}</span>
        <select
          value={user}
          onChange={({ target }) => onSwitch(target.value, roleOf(target.value))}
          disabled={users.length === 0}
        >
          {[...subjects].map((subject) => (
            <option key={subject}>{subject}</option>
          ))}
        </select>
      </label>
    </>
  );
}
