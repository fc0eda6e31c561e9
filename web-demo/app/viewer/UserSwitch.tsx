import { Avatar } from "../../shared/ui/Avatar";
import { useDevelopmentUsers } from "./useDevelopmentUsers";
import { useViewer } from "./useViewer";

interface Props {
  /** What it is, for those who hear the page. */
  label: string;
  /** The subject of whom one acts as. */
  user: string;
  className?: string;
  onSwitch: (user: string) => void;
}

/** Who one is; a development server lets one be somebody else. */
export function UserSwitch({ label, user, className, onSwitch }: Props) {
  const viewer = useViewer();
  const users = useDevelopmentUsers().filter(({ role }) => role === "user");
  const subjects = new Set([user, ...users.map(({ subject }) => subject)]);
  return (
    <>
      <Avatar name={viewer?.name ?? user} size={32} />
      <label className={className}>
        <span className="only-heard">{label}</span>
        <select value={user} onChange={(event) => onSwitch(event.target.value)} disabled={users.length === 0}>
          {[...subjects].map((subject) => (
            <option key={subject}>{subject}</option>
          ))}
        </select>
      </label>
    </>
  );
}
