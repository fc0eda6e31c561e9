import { useCallback, useState } from "react";
import { useClient } from "urql";
import { type CommentOrder, NoteCommentsChangedDocument, NoteCommentsDocument } from "../../shared/api/generated";
import { useChanges } from "../../shared/lists/useChanges";

/**
 * Keeps a note's comments and replies live: the cache adds those that appear and drops those that are removed
 * (`shared/api/updates.ts`). Returns the ids of those that appeared, and a function that reads the thread again.
 */
export function useLiveThread(noteId: string, orderBy: CommentOrder) {
  const client = useClient();
  const [appeared, setAppeared] = useState<ReadonlySet<string>>(new Set());
  const readAgain = useCallback(() => {
    const first = { noteId, orderBy, after: null };
    client.query(NoteCommentsDocument, first, { requestPolicy: "network-only" }).toPromise();
  }, [client, noteId, orderBy]);
  useChanges(NoteCommentsChangedDocument, { noteId }, (data) => data.noteCommentsChanged, {
    onStart: readAgain,
    onGap: readAgain,
    onChanges({ comments }) {
      const ids = comments.filter(({ isRemoved }) => !isRemoved).map(({ id }) => id);
      setAppeared((before) => new Set([...before, ...ids]));
    },
  });
  return { appeared, readAgain };
}
