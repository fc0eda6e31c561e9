import { type ProfileHeadFragment } from "../../shared/api/generated";
import { Count } from "../../shared/ui/Count";
import styles from "./ProfileTabs.module.css";

export type Tab = "notes" | "followers" | "following" | "groups";

interface Props {
  user: ProfileHeadFragment;
  value: Tab;
  onChange: (tab: Tab) => void;
}

/** The lists of a user, each with how long it is. */
export function ProfileTabs({ user, value, onChange }: Props) {
  const tabs: [Tab, string, number][] = [
    ["notes", "Notes", user.noteCount],
    ["followers", "Followers", user.followerCount],
    ["following", "Following", user.followingCount],
    ["groups", "Groups", user.groupCount],
  ];
  return (
    <div role="group" aria-label="Lists" className={styles.tabs}>
      {tabs.map(([tab, name, count]) => (
        <button key={tab} type="button" aria-pressed={tab === value} onClick={() => onChange(tab)}>
          <Count value={count} />
          <span>{name}</span>
        </button>
      ))}
    </div>
  );
}
