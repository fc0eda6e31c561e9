import { type InboxBadgesFragment, type InboxEntryKind, type InboxKind } from "../../shared/api/generated";

export type Unread = Record<InboxKind, number>;

export const KINDS: InboxKind[] = ["REPLIES", "LIKES", "NEW_FOLLOWERS", "DIRECT_MESSAGES"];

/** The badge of each kind of entry; each entry counts once. */
export const BADGE_OF: Record<InboxEntryKind, InboxKind> = {
  NOTE_COMMENTED: "REPLIES",
  COMMENT_ANSWERED: "REPLIES",
  MENTIONED: "REPLIES",
  NOTE_LIKED: "LIKES",
  COMMENT_LIKED: "LIKES",
  FOLLOWED: "NEW_FOLLOWERS",
  MESSAGE_RECEIVED: "DIRECT_MESSAGES",
};

export const NOTHING: Unread = { REPLIES: 0, LIKES: 0, NEW_FOLLOWERS: 0, DIRECT_MESSAGES: 0 };

export const unreadOf = (inbox: InboxBadgesFragment): Unread => ({
  REPLIES: inbox.unreadReplyCount,
  LIKES: inbox.unreadLikeCount,
  NEW_FOLLOWERS: inbox.unreadFollowerCount,
  DIRECT_MESSAGES: inbox.unreadMessageCount,
});

/** How much each badge rose from `before` to `now`. */
export const increase = (now: Unread, before: Unread): Unread => each((kind) => Math.max(now[kind] - before[kind], 0));

export const minimum = (one: Unread, other: Unread): Unread => each((kind) => Math.min(one[kind], other[kind]));

export const total = (unread: Unread): number => KINDS.reduce((sum, kind) => sum + unread[kind], 0);

function each(count: (kind: InboxKind) => number): Unread {
  return Object.fromEntries(KINDS.map((kind) => [kind, count(kind)])) as Unread;
}
