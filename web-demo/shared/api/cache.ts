import { type Cache, type OptimisticMutationResolver, type UpdateResolver, cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { type InboxKind } from "./generated";

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
  const meet = meetViewer();
  return cacheExchange({
    possibleTypes: { Node: ["Comment", "Group", "Note", "User"] },
    logger: tell,
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
    updates: {
      Query: { hotNotes: dropLaterPages, viewer: meet.viewer },
      User: {
        ...{ followers: dropLaterPages, following: dropLaterPages, groups: dropLaterPages },
        ...{ likedNotes: dropLaterPages, collectedNotes: dropLaterPages },
      },
      Group: { notes: dropLaterPages, members: dropLaterPages },
      Inbox: { entries: dropLaterPages },
      Subscription: { inboxCountsChanged: meet.inbox },
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
      markInboxRead: emptied,
    },
  });
}

/** Without its false alarm: it looks for the fields of an inline fragment in objects of other types, too. */
function tell(severity: "debug" | "error" | "warn", message: string) {
  if (severity !== "debug" && !message.includes("Inline Fragment on")) console[severity](message);
}

const pages = () => relayPagination();

/**
 * A first page that is read anew begins the list anew: pages that followed the old one would leave a gap, or come
 * twice.
 */
const dropLaterPages: UpdateResolver = (_data, args, store, { parentKey, fieldName }) => {
  if (args.after) return;
  for (const page of store.inspectFields(parentKey)) {
    if (page.fieldName === fieldName && page.arguments?.after) store.invalidate(parentKey, fieldName, page.arguments);
  }
};

/**
 * Who has an inbox is somebody, so an answer that the viewer is nobody is of a moment before: it is asked for once
 * more, whichever of the two comes first.
 */
function meetViewer(): Record<"viewer" | "inbox", UpdateResolver> {
  let hasInbox = false;
  const meet = (store: Cache) => {
    if (!hasInbox || store.resolve("Query", "viewer") !== null) return;
    hasInbox = false;
    store.invalidate("Query", "viewer");
  };
  return {
    viewer: (_data, _args, store) => meet(store),
    inbox(_data, _args, store) {
      hasInbox = true;
      meet(store);
    },
  };
}

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
