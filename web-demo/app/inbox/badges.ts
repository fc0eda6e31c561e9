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

export const total = (unread: Unread): number => BADGES.reduce((sum, badge) => sum + unread[badge], 0);
