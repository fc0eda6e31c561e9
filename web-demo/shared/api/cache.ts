import { cacheExchange } from "@urql/exchange-graphcache";
import { relayPagination } from "@urql/exchange-graphcache/extras";
import { optimistic } from "./optimistic";
import { updates } from "./updates";

/**
 * The normalised cache: an object is stored once, by `__typename` and `id`, so a subscription event with new
 * counts updates every place that shows it, without code in the pages.
 *
 * Actions have optimistic results. The answer replaces them; an error undoes them.
 */
export function cache() {
  return cacheExchange({
    possibleTypes: {
      Node: ["Comment", "Group", "InboxEntry", "Note", "User"],
      NoteList: ["NoteConnection", "LikedNoteConnection", "CollectedNoteConnection"],
      GroupList: ["GroupConnection", "JoinedGroupConnection"],
      UserList: ["LikerConnection", "FollowerConnection", "FollowedUserConnection", "MemberConnection"],
    },
    logger: log,
    keys: {
      // By its place: one that moves is offered as new, and the list keeps it as it was until it is read again.
      InboxEntry: ({ cursor }) => cursor as string,
      ...embedded("Viewer", "NoteConnection", "LikedNoteConnection", "CollectedNoteConnection", "CommentConnection"),
      ...embedded("LikerConnection", "FollowerConnection", "FollowedUserConnection", "MemberConnection"),
      ...embedded("GroupConnection", "JoinedGroupConnection"),
      ...embedded("InboxEntryConnection", "ExportedRecordConnection", "ExportedRecord", "PageInfo"),
      ...embedded("CommentChanges", "FeedChanges", "InboxEntryChanges"),
      ...embedded("WrittenText", "ReviewQueue", "ActivityPoint", "UserVisibility", "Suspension"),
      ...embedded("ReviewItemConnection", "ReviewItem", "ReportReasonCount", "ReportConnection", "Report"),
    },
    resolvers: {
      Query: { feed: pages(), followingFeed: pages(), groups: pages(), hotNotes: pages() },
      Note: { comments: pages(), likers: pages() },
      Comment: { replies: pages() },
      User: { notes: pages(), followers: pages(), following: pages(), groups: pages() },
      Viewer: { likedNotes: pages(), collectedNotes: pages(), unpublishedNotes: pages() },
      Group: { notes: pages(), members: pages() },
      Inbox: { entries: pages() },
      ReviewQueue: { items: pages() },
    },
    updates: updates(),
    optimistic,
  });
}

/** Suppresses a false warning: Graphcache looks for the fields of an inline fragment in objects of other types, too. */
function log(severity: "debug" | "error" | "warn", message: string) {
  if (severity !== "debug" && !message.includes("Inline Fragment on")) console[severity](message);
}

const pages = () => relayPagination();

/** Types without an id of their own live inside the object that has them. */
const embedded = (...typenames: string[]) => Object.fromEntries(typenames.map((name) => [name, () => null]));
