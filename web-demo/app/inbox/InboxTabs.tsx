import { Heart, Inbox, type LucideIcon, Mail, MessageCircle, UserRoundPlus } from "lucide-react";
import { type InboxBadge } from "../../shared/api/generated";
import { exactly, abbreviated } from "../../shared/ui/Count";
import { Tabs } from "../controls/Tabs";
import styles from "./InboxTabs.module.css";
import { type Unread } from "./badges";

interface Props {
  unread: Unread;
  /** Null for all. */
  value: InboxBadge | null;
  onChange: (badge: InboxBadge | null) => void;
}

/** The filter of the inbox, with the unread count of each badge. */
export function InboxTabs({ unread, value, onChange }: Props) {
  return (
    <Tabs
      isWide
      label="What to show"
      options={[
        { value: null, text: "All", above: <Badged icon={Inbox} /> },
        { value: "REPLIES", text: "Replies", above: <Badged icon={MessageCircle} count={unread.REPLIES} /> },
        { value: "LIKES", text: "Likes", above: <Badged icon={Heart} count={unread.LIKES} /> },
        { value: "FOLLOWERS", text: "Followers", above: <Badged icon={UserRoundPlus} count={unread.FOLLOWERS} /> },
        { value: "MESSAGES", text: "Messages", above: <Badged icon={Mail} count={unread.MESSAGES} /> },
      ]}
      value={value}
      onChange={onChange}
    />
  );
}

/** The badge is positioned on the icon, so that it does not shift the tabs. */
function Badged({ icon: Icon, count = 0 }: { icon: LucideIcon; count?: number }) {
  return (
    <span className={styles.icon}>
      <Icon size={21} aria-hidden="true" />
      {count > 0 && (
        <span className={styles.badge} title={exactly(count)}>
          {abbreviated(count)}
          <span className="only-heard"> unread </span>
        </span>
      )}
    </span>
  );
}
