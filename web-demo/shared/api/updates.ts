import { type Cache, type UpdatesConfig } from "@urql/exchange-graphcache";
import { gql } from "urql";
import { resetList, drop, prepend } from "./lists";
import { invalidateNewViewer, ownUserKey, viewerKey } from "./viewer";

type Input = { input: Record<string, string> };

/** Cache updates that follow from mutations beyond the returned objects: the lists that contain them. */
export function updates(): UpdatesConfig {
  return {
    Query: {
      feed: resetList,
      groups: resetList,
      hotNotes: resetList,
      nodes: ({ nodes }, { ids }, cache) => dropMissing(cache, ids as string[], nodes as unknown[]),
    },
    Note: { comments: resetList, likers: resetList },
    Comment: { replies: resetList },
    User: { followers: resetList, following: resetList, groups: resetList },
    Viewer: { likedNotes: resetList, collectedNotes: resetList, unpublishedNotes: resetList },
    Group: { notes: resetList, members: resetList },
    Inbox: { entries: resetList },
    Mutation: {
      createNote: ({ createNote }, _args, cache) => createNote && noteCreated(cache, createNote as CreatedNote),
      deleteNote: ({ deleteNote }, { input }: Input, cache) => deleteNote && noteDeleted(cache, input.noteId!),
      deleteGroup: ({ deleteGroup }, { input }: Input, cache) => deleteGroup && groupDeleted(cache, input.groupId!),
      removeGroupMember: ({ removeGroupMember }, { input }: Input, cache) =>
        removeGroupMember && drop(cache, `Group:${input.groupId}`, "members", `User:${input.userId}`),
      removeGroupNote: ({ removeGroupNote }, { input }: Input, cache) =>
        removeGroupNote && drop(cache, `Group:${input.groupId}`, "notes", `Note:${input.noteId}`),
      likeNote: ({ likeNote }, { input }: Input, cache) => likeNote && updateLikers(cache, input.noteId!, true),
      unlikeNote: ({ unlikeNote }, { input }: Input, cache) => unlikeNote && updateLikers(cache, input.noteId!, false),
      addComment: ({ addComment }, _args, cache) => addComment && commentAdded(cache, addComment as AddedComment),
      deleteComment: ({ deleteComment }, { input }: Input, cache) =>
        deleteComment && commentDeleted(cache, input.commentId!),
    },
    Subscription: {
      noteCommentsChanged: ({ noteCommentsChanged }, { noteId }, cache) =>
        noteCommentsChanged && commentsChanged(cache, noteId as string, noteCommentsChanged as ChangedComments),
    },
  };
}

interface CreatedNote {
  note: { id: string; state: string; author: { id: string } | null };
}

interface AddedComment {
  comment: { id: string };
}

interface ChangedComments {
  comments: { id: string; isRemoved: boolean }[];
  removedCommentIds: string[];
}

const UNPUBLISHED = "viewerUnpublishedComments";

function noteCreated(cache: Cache, { note }: CreatedNote) {
  const key = `Note:${note.id}`;
  prepend(cache, "Query", "feed", key);
  const isPublic = note.state === "APPROVED";
  if (isPublic && note.author) prepend(cache, `User:${note.author.id}`, "notes", key);
  invalidateNewViewer(cache);
}

function noteDeleted(cache: Cache, noteId: string) {
  const key = `Note:${noteId}`;
  drop(cache, "Query", "feed", key);
  drop(cache, "Query", "followingFeed", key);
  drop(cache, "Query", "hotNotes", key);
  drop(cache, linked(cache, key, "author"), "notes", key);
  drop(cache, linked(cache, key, "group"), "notes", key);
  drop(cache, viewerKey(cache), "likedNotes", key);
  drop(cache, viewerKey(cache), "collectedNotes", key);
  cache.link("Query", "note", { id: noteId }, null);
}

/** Its notes stay, in no group. */
function groupDeleted(cache: Cache, groupId: string) {
  const key = `Group:${groupId}`;
  drop(cache, "Query", "groups", key);
  const user = ownUserKey(cache);
  if (user) drop(cache, user, "groups", key);
  cache.link("Query", "group", { id: groupId }, null);
}

/** Adds the viewer to the likers of a note, or removes them. The server's list changes a moment later. */
function updateLikers(cache: Cache, noteId: string, on: boolean) {
  const user = ownUserKey(cache);
  if (!user) return;
  if (on) prepend(cache, `Note:${noteId}`, "likers", user);
  else drop(cache, `Note:${noteId}`, "likers", user);
}

/** The comment stays in this list until it is read again, even if it is approved before: see `withOwn`. */
function commentAdded(cache: Cache, { comment }: AddedComment) {
  const key = `Comment:${comment.id}`;
  const note = linked(cache, key, "note");
  const unpublished = unpublishedOf(cache, note);
  if (note && unpublished && !unpublished.includes(key)) cache.link(note, UNPUBLISHED, [key, ...unpublished]);
  invalidateNewViewer(cache);
}

/** Comments that appeared come first until their list is read again. Placeholders stay where they are. */
function commentsChanged(cache: Cache, noteId: string, { comments, removedCommentIds }: ChangedComments) {
  for (const { id, isRemoved } of [...comments].reverse()) {
    const key = `Comment:${id}`;
    addRest(cache, noteId, id);
    const parent = linked(cache, key, "parent");
    if (isRemoved) continue;
    if (parent) prepend(cache, parent, "replies", key);
    else prepend(cache, `Note:${noteId}`, "comments", key);
  }
  for (const id of removedCommentIds) dropComment(cache, `Comment:${id}`);
}

/** Adds what the event does not have: everybody sees the comment, and what is unknown of it is as of a new one. */
function addRest(cache: Cache, noteId: string, id: string) {
  const comment = { __typename: "Comment", id };
  cache.writeFragment(APPROVED, { ...comment, state: "APPROVED", rejectionReason: null });
  if (cache.resolve(comment, "viewerHasLiked") !== undefined) return;
  const note = { __typename: "Note", id: noteId };
  cache.writeFragment(REST, { ...comment, editedAt: null, viewerHasLiked: false, pendingEdit: null, note });
}

/** A removed comment with replies stays as a placeholder, as on the server. */
function commentDeleted(cache: Cache, commentId: string) {
  const key = `Comment:${commentId}`;
  if (Number(cache.resolve(key, "replyCount")) > 0) {
    cache.writeFragment(PLACEHOLDER, { __typename: "Comment", id: commentId, isRemoved: true, body: "", author: null });
    return;
  }
  dropComment(cache, key);
}

/** Drops queried comments that no longer exist. */
function dropMissing(cache: Cache, ids: string[], nodes: unknown[]) {
  ids.forEach((id, i) => nodes[i] === null && dropComment(cache, `Comment:${id}`));
}

function dropComment(cache: Cache, key: string) {
  const note = linked(cache, key, "note");
  dropUnpublished(cache, note, key);
  drop(cache, note, "comments", key);
  drop(cache, linked(cache, key, "parent"), "replies", key);
}

const APPROVED = gql`
  fragment Approved on Comment {
    id
    state
    rejectionReason
  }
`;

const REST = gql`
  fragment Rest on Comment {
    id
    editedAt
    viewerHasLiked
    pendingEdit {
      body
    }
    note {
      id
    }
  }
`;

const PLACEHOLDER = gql`
  fragment Placeholder on Comment {
    id
    isRemoved
    body
    author {
      id
    }
  }
`;

function dropUnpublished(cache: Cache, note: string | null, key: string) {
  const unpublished = unpublishedOf(cache, note);
  if (note && unpublished?.includes(key)) cache.link(note, UNPUBLISHED, unpublished.filter((one) => one !== key));
}

const unpublishedOf = (cache: Cache, note: string | null) =>
  note ? (cache.resolve(note, UNPUBLISHED) as string[] | undefined) : undefined;

/** Key of the object that a field leads to. */
const linked = (cache: Cache, of: string, field: string) => (cache.resolve(of, field) ?? null) as string | null;
