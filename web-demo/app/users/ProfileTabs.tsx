import { type ProfileHeadFragment } from "../../shared/api/generated";
import { Count } from "../../shared/ui/Count";
import { Tabs } from "../controls/Tabs";

export type Tab = "notes" | "followers" | "following" | "groups";

interface Props {
  user: ProfileHeadFragment;
  value: Tab;
  onChange: (tab: Tab) => void;
}

/** The lists of a user, each with its length. */
export function ProfileTabs({ user, value, onChange }: Props) {
  return (
    <Tabs
      isWide
      label="Lists"
      options={[
        { value: "notes", text: "Notes", above: <Count value={user.noteCount} /> },
        { value: "followers", text: "Followers", above: <Count value={user.followerCount} /> },
        { value: "following", text: "Following", above: <Count value={user.followingCount} /> },
        { value: "groups", text: "Groups", above: <Count value={user.groupCount} /> },
      ]}
      value={value}
      onChange={onChange}
    />
  );
}
