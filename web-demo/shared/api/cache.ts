import { type Cache, type OptimisticMutationResolver, cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { updates } from "./updates";

/** An entity that an action turns something on or off for. */
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

/**
 * The normalised cache: an object is stored once, by `__typename` and `id`, so a subscription that brings its new
 * counts changes every place that shows it, and no page does anything for that.
 *
 * Actions show at once what they will most likely do. The answer replaces that; an error takes it back.
 */
export function cache() {
  return cacheExchange({
    keys: {
      ...embedded("NoteConnection", "UserConnection", "GroupConnection", "CommentConnection"),
      ...embedded("InboxEntryConnection", "PendingCommentConnection", "PendingComment", "PageInfo"),
      ...embedded("CommentQueue", "ActivityPoint", "UserVisibility"),
    },
    resolvers: {
      Query: { feed: pages(), hotNotes: pages(), pendingComments: pages() },
      Note: { comments: pages(), likers: pages() },
      Comment: { replies: pages() },
      User: {
        ...{ notes: pages(), followers: pages(), following: pages(), groups: pages() },
        ...{ likedNotes: pages(), collectedNotes: pages() },
      },
      Group: { notes: pages(), members: pages() },
      Inbox: { entries: pages() },
    },
    updates,
    optimistic: {
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
      rateNote: rated,
      deleteComment: commentDeleted,
    },
  });
}

const pages = () => relayPagination();

/** Types without an id of their own live inside the object that has them. */
const embedded = (...typenames: string[]) => Object.fromEntries(typenames.map((name) => [name, () => null]));

/** What the payload will be, if the action is done. */
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

/** It counted if others saw it. Where it stood, `updates.ts` takes it away. */
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
