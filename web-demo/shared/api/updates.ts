import { type Cache, type UpdatesConfig } from "@urql/exchange-graphcache";
import { gql } from "urql";
import { beginAnew, drop, prepend } from "./lists";
import { knowViewer, viewerKey } from "./viewer";

type Input = { input: Record<string, string> };

/** Cache updates that follow from mutations beyond the returned objects: the lists that contain them. */
export function updates(): UpdatesConfig {
  return {
    Query: {
      hotNotes: beginAnew,
      nodes: ({ nodes }, { ids }, cache) => dropGone(cache, ids as string[], nodes as unknown[]),
    },
    Note: { comments: beginAnew, likers: beginAnew },
    Comment: { replies: beginAnew },
    User: {
      ...{ followers: beginAnew, following: beginAnew, groups: beginAnew },
      ...{ likedNotes: beginAnew, collectedNotes: beginAnew },
    },
    Group: { notes: beginAnew, members: beginAnew },
    Inbox: { entries: beginAnew },
    Mutation: {
      createNote: ({ createNote }, _args, cache) => createNote && noteCreated(cache, createNote as Created),
      deleteNote: ({ deleteNote }, { input }: Input, cache) => deleteNote && noteDeleted(cache, input.noteId!),
      likeNote: ({ likeNote }, { input }: Input, cache) => likeNote && turnLiker(cache, input.noteId!, true),
      unlikeNote: ({ unlikeNote }, { input }: Input, cache) => unlikeNote && turnLiker(cache, input.noteId!, false),
      addComment: ({ addComment }, _args, cache) => addComment && commentAdded(cache, addComment as Added),
      deleteComment: ({ deleteComment }, { input }: Input, cache) =>
        deleteComment && commentDeleted(cache, input.commentId!),
    },
  };
}

interface Created {
  note: { id: string; author: { id: string } | null };
}

interface Added {
  comment: { id: string };
}

const UNPUBLISHED = "viewerUnpublishedComments";

function noteCreated(cache: Cache, { note }: Created) {
  const key = `Note:${note.id}`;
  prepend(cache, "Query", "feed", key, ({ following }) => !following);
  if (note.author) prepend(cache, `User:${note.author.id}`, "notes", key);
  knowViewer(cache);
}

function noteDeleted(cache: Cache, noteId: string) {
  const key = `Note:${noteId}`;
  drop(cache, "Query", "feed", key);
  drop(cache, "Query", "hotNotes", key);
  drop(cache, linked(cache, key, "author"), "notes", key);
  drop(cache, linked(cache, key, "group"), "notes", key);
  drop(cache, viewerKey(cache), "likedNotes", key);
  drop(cache, viewerKey(cache), "collectedNotes", key);
  cache.link("Query", "note", { id: noteId }, null);
}

/** The viewer among the likers of a note. The server's list follows moments later. */
function turnLiker(cache: Cache, noteId: string, on: boolean) {
  const viewer = viewerKey(cache);
  if (!viewer) return;
  if (on) prepend(cache, `Note:${noteId}`, "likers", viewer);
  else drop(cache, `Note:${noteId}`, "likers", viewer);
}

/** It stays here until the list is read again, even if it is approved by then: see `withOwn`. */
function commentAdded(cache: Cache, { comment }: Added) {
  const key = `Comment:${comment.id}`;
  const note = linked(cache, key, "note");
  const unpublished = unpublishedOf(cache, note);
  if (note && unpublished && !unpublished.includes(key)) cache.link(note, UNPUBLISHED, [key, ...unpublished]);
  knowViewer(cache);
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

/** Drops comments that a query asked for and that do not exist any more. */
function dropGone(cache: Cache, ids: string[], nodes: unknown[]) {
  ids.forEach((id, i) => nodes[i] === null && dropComment(cache, `Comment:${id}`));
}

function dropComment(cache: Cache, key: string) {
  const note = linked(cache, key, "note");
  dropUnpublished(cache, note, key);
  drop(cache, note, "comments", key);
  drop(cache, linked(cache, key, "parent"), "replies", key);
}

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
