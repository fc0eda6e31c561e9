import { type Cache, type OptimisticMutationResolver, cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";

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
