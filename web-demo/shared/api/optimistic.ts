import { type Cache, type OptimisticMutationConfig, type OptimisticMutationResolver } from "@urql/exchange-graphcache";
import { changesOnly, optimistic as edges } from "plaudit-client/urql";
import { type InboxBadge, type ReviewDecision } from "./generated";

const BADGES: Record<InboxBadge, string> = {
  REPLIES: "unreadReplyCount",
  LIKES: "unreadLikeCount",
  FOLLOWERS: "unreadFollowerCount",
  MESSAGES: "unreadMessageCount",
};

/** The inbox with these badges at 0. */
const markInboxRead: OptimisticMutationResolver = ({ input }, store) => {
  const inbox = store.resolve(store.resolve("Query", "viewer") as string, "inbox") as string;
  const counts = (input as { badges: InboxBadge[] }).badges.map((badge) => [BADGES[badge], 0]);
  const id = store.resolve(inbox, "id") as string;
  return {
    __typename: "MarkInboxReadPayload",
    changed: true,
    inbox: { __typename: "Inbox", id, ...Object.fromEntries(counts) },
  };
};

/** The average with the viewer's new rating; without a score, the rating is taken back. */
const rateNote: OptimisticMutationResolver = ({ input }: { input?: { noteId: string; score?: number } }, store: Cache) => {
  const { noteId, score = null } = input!;
  const entity = { __typename: "Note", id: noteId };
  const count = Number(store.resolve(entity, "ratingCount") ?? 0);
  const sum = Number(store.resolve(entity, "ratingAverage") ?? 0) * count;
  const before = store.resolve(entity, "viewerRating") as number | null | undefined;
  const ratingCount = count - (before == null ? 0 : 1) + (score === null ? 0 : 1);
  const ratingAverage = ratingCount === 0 ? null : (sum - (before ?? 0) + (score ?? 0)) / ratingCount;
  return { __typename: "Payload", changed: true, note: { ...entity, viewerRating: score, ratingCount, ratingAverage } };
};

/** The note with its new texts. */
const updateNote: OptimisticMutationResolver = ({ input }) => {
  const { noteId, title, body } = input as { noteId: string; title: string; body: string };
  return { __typename: "Payload", changed: true, note: { __typename: "Note", id: noteId, title, body } };
};

/** The note's count without the comment, if it was published. `updates.ts` removes the comment from its list. */
const deleteComment: OptimisticMutationResolver = ({ input }: { input?: { commentId: string } }, store: Cache) => {
  const { commentId } = input!;
  const comment = { __typename: "Comment", id: commentId };
  const note = store.resolve(comment, "note") as string;
  const oldCount = Number(store.resolve(note, "commentCount") ?? 0);
  const decrease = store.resolve(comment, "state") === "APPROVED" ? 1 : 0;
  return {
    __typename: "Payload",
    changed: true,
    deletedCommentId: commentId,
    note: { __typename: "Note", id: store.resolve(note, "id") as string, commentCount: oldCount - decrease },
  };
};

/** A text after a moderator's decision. What everybody sees stays approved: only its edit was decided. */
const decide: OptimisticMutationResolver = ({ input }, store) => {
  const { aboutId, decision, reason = null } = input as { aboutId: string; decision: ReviewDecision; reason?: string };
  const payload = { __typename: "Payload", changed: true, decidedId: aboutId };
  if (decision === "KEEP" || decision === "REMOVE") return { ...payload, about: null };
  const about = { __typename: aboutId.startsWith("note_") ? "Note" : "Comment", id: aboutId };
  const isEdit = store.resolve(about, "state") === "APPROVED";
  const decided = isEdit
    ? { state: "APPROVED", rejectionReason: null, pendingEdit: null }
    : { state: decision === "APPROVE" ? "APPROVED" : "REJECTED", rejectionReason: reason };
  return { ...payload, about: { ...about, ...decided } };
};

/** The optimistic result of each action, shown until the answer arrives. */
export const optimistic: OptimisticMutationConfig = {
  ...edges,
  ...changesOnly({
    markInboxRead,
    rateNote,
    unrateNote: rateNote,
    updateNote,
    deleteComment,
    decide,
  }),
};
