import { type InboxBadge, type InboxBadgesFragment } from "../../shared/api/generated";

export type Unread = Record<InboxBadge, number>;

export const BADGES: InboxBadge[] = ["REPLIES", "LIKES", "FOLLOWERS", "MESSAGES"];

export const NOTHING: Unread = { REPLIES: 0, LIKES: 0, FOLLOWERS: 0, MESSAGES: 0 };

export const unreadOf = (inbox: InboxBadgesFragment): Unread => ({
  REPLIES: inbox.unreadReplyCount,
  LIKES: inbox.unreadLikeCount,
  FOLLOWERS: inbox.unreadFollowerCount,
  MESSAGES: inbox.unreadMessageCount,
});

/** How much each badge rose from `before` to `now`. */
export const increase = (now: Unread, before: Unread): Unread => each((badge) => Math.max(now[badge] - before[badge], 0));

export const minimum = (one: Unread, other: Unread): Unread => each((badge) => Math.min(one[badge], other[badge]));

export const total = (unread: Unread): number => BADGES.reduce((sum, badge) => sum + unread[badge], 0);

function each(count: (badge: InboxBadge) => number): Unread {
  return Object.fromEntries(BADGES.map((badge) => [badge, count(badge)])) as Unread;
}
