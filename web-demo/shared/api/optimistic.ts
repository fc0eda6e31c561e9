import { type Cache, type OptimisticMutationConfig, type OptimisticMutationResolver } from "@urql/exchange-graphcache";
import { type InboxKind } from "./generated";

/** An entity with a state that an action switches. */
interface Switch {
  typename: "Note" | "Comment" | "User" | "Group";
  /** The field of the payload that has the entity, and with `Id` behind it the variable that names it. */
  field: "note" | "comment" | "user" | "group";
  count: string;
  flag: string;
}

const NOTE_LIKE: Switch = { typename: "Note", field: "note", count: "likeCount", flag: "viewerHasLiked" };
const NOTE_COLLECT: Switch = { ...NOTE_LIKE, count: "collectCount", flag: "viewerHasCollected" };
const COMMENT_LIKE: Switch = { ...NOTE_LIKE, typename: "Comment", field: "comment" };
const FOLLOW: Switch = { typename: "User", field: "user", count: "followerCount", flag: "viewerIsFollowing" };
const MEMBERSHIP: Switch = { typename: "Group", field: "group", count: "memberCount", flag: "viewerIsMember" };

const BADGES: Record<InboxKind, string> = {
  REPLIES: "unreadReplyCount",
  LIKES: "unreadLikeCount",
  NEW_FOLLOWERS: "unreadFollowerCount",
  DIRECT_MESSAGES: "unreadMessageCount",
};

/** The inbox with those badges empty. */
const emptied: OptimisticMutationResolver = ({ input }, store) => {
  const inbox = store.resolve(store.resolve("Query", "viewer") as string, "inbox") as string;
  const counts = (input as { kinds: InboxKind[] }).kinds.map((kind) => [BADGES[kind], 0]);
  const id = store.resolve(inbox, "id") as string;
  return {
    __typename: "MarkInboxReadPayload",
    changed: true,
    inbox: { __typename: "Inbox", id, ...Object.fromEntries(counts) },
  };
};

/** The expected payload. */
function turned({ typename, field, count, flag }: Switch, on: boolean): OptimisticMutationResolver {
  return (args, store: Cache) => {
    const id = (args.input as Record<string, string>)[`${field}Id`]!;
    const entity = { __typename: typename, id };
    const isNew = store.resolve(entity, flag) !== on;
    const counted = Number(store.resolve(entity, count) ?? 0);
    return {
      __typename: "Payload",
      changed: isNew,
      [field]: { ...entity, [flag]: on, [count]: counted + (isNew ? (on ? 1 : -1) : 0) },
    };
  };
}

/** The mean moves by what the viewer's rating changes. */
const rated: OptimisticMutationResolver = ({ input }: { input?: { noteId: string; score: number } }, store: Cache) => {
  const { noteId, score } = input!;
  const entity = { __typename: "Note", id: noteId };
  const count = Number(store.resolve(entity, "ratingCount") ?? 0);
  const sum = Number(store.resolve(entity, "ratingAverage") ?? 0) * count;
  const before = store.resolve(entity, "viewerRating") as number | null | undefined;
  const ratingCount = before == null ? count + 1 : count;
  const ratingAverage = (sum - (before ?? 0) + score) / ratingCount;
  return { __typename: "Payload", changed: true, note: { ...entity, viewerRating: score, ratingCount, ratingAverage } };
};

/** A published comment was counted. `updates.ts` removes it from its list. */
const commentDeleted: OptimisticMutationResolver = ({ input }: { input?: { commentId: string } }, store: Cache) => {
  const { commentId } = input!;
  const comment = { __typename: "Comment", id: commentId };
  const note = store.resolve(comment, "note") as string;
  const counted = Number(store.resolve(note, "commentCount") ?? 0);
  const falls = store.resolve(comment, "state") === "APPROVED" ? 1 : 0;
  return {
    __typename: "Payload",
    changed: true,
    commentId,
    note: { __typename: "Note", id: store.resolve(note, "id") as string, commentCount: counted - falls },
  };
};

/** The comment after a moderator's decision. */
function decided(state: "APPROVED" | "REJECTED"): OptimisticMutationResolver {
  return ({ input }) => {
    const { commentId, reason = null } = input as { commentId: string; reason?: string };
    return {
      __typename: "Payload",
      changed: true,
      comment: { __typename: "Comment", id: commentId, state, rejectionReason: reason },
    };
  };
}

/** The optimistic result of each action, shown until the answer arrives. */
export const optimistic: OptimisticMutationConfig = {
  likeNote: turned(NOTE_LIKE, true),
  unlikeNote: turned(NOTE_LIKE, false),
  collectNote: turned(NOTE_COLLECT, true),
  uncollectNote: turned(NOTE_COLLECT, false),
  likeComment: turned(COMMENT_LIKE, true),
  unlikeComment: turned(COMMENT_LIKE, false),
  follow: turned(FOLLOW, true),
  unfollow: turned(FOLLOW, false),
  joinGroup: turned(MEMBERSHIP, true),
  leaveGroup: turned(MEMBERSHIP, false),
  markInboxRead: emptied,
  rateNote: rated,
  deleteComment: commentDeleted,
  approveComment: decided("APPROVED"),
  rejectComment: decided("REJECTED"),
};
