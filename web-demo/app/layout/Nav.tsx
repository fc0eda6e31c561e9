import { Bell, Columns2, Flame, Heart, House, type LucideIcon, UserRound, UsersRound } from "lucide-react";
import { Link, useRoute } from "wouter";
import { type InboxBadgesFragment } from "../../shared/api/generated";
import { Logo } from "../../shared/ui/Logo";
import styles from "./Nav.module.css";
import { useLiveViewer } from "../viewer/useLiveViewer";

/** The main navigation. On a phone its first five links are a bar at the bottom. */
export function Nav() {
  const viewer = useLiveViewer();
  return (
    <nav className={styles.nav} aria-label="Pages">
      <Link href="/" className={styles.logo} aria-label="Plaudit, home">
        <Logo />
        Plaudit
      </Link>
      <NavLink to="/" icon={House} text="Home" />
      <NavLink to="/hot" icon={Flame} text="Hot" />
      <NavLink to="/groups" icon={UsersRound} text="Groups" />
      <NavLink to="/inbox" icon={Bell} text="Inbox" badge={unread(viewer?.inbox)} />
      <NavLink to={viewer?.user ? `/user/${viewer.user.id}` : "/user/me"} icon={UserRound} text="Profile" />
      <NavLink to="/likes" icon={Heart} text="My likes" />
      <NavLink to="/two" icon={Columns2} text="Side by side" />
    </nav>
  );
}

function NavLink({ to, icon: Icon, text, badge = 0 }: { to: string; icon: LucideIcon; text: string; badge?: number }) {
  const [isHere] = useRoute(to);
  return (
    <Link href={to} className={styles.way} aria-current={isHere ? "page" : undefined}>
      <Icon size={23} aria-hidden="true" />
      <span>{text}</span>
      {badge > 0 && (
        <span className={styles.badge}>
          {badge > 99 ? "99+" : badge}
          <span className="only-heard"> unread</span>
        </span>
      )}
    </Link>
  );
}

const unread = (inbox: InboxBadgesFragment | null | undefined): number =>
  inbox
    ? inbox.unreadReplyCount + inbox.unreadLikeCount + inbox.unreadFollowerCount + inbox.unreadMessageCount
    : 0;
