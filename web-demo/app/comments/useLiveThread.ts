import { useState } from "react";
import { NoteCommentsChangedDocument } from "../../shared/api/generated";
import { useChanges } from "../../shared/lists/useChanges";

/**
 * Keeps a note's comments and replies live: the cache adds those that appear and drops those that are removed
 * (`shared/api/updates.ts`). Returns the ids of those that appeared, and whether the thread may be read.
 */
export function useLiveThread(noteId: string, onReadAgain: () => void) {
  const [appeared, setAppeared] = useState<ReadonlySet<string>>(new Set());
  const isStarted = useChanges(NoteCommentsChangedDocument, { noteId }, (data) => data.noteCommentsChanged, {
    onChanges({ comments }) {
      const ids = comments.filter(({ isRemoved }) => !isRemoved).map(({ id }) => id);
      setAppeared((before) => new Set([...before, ...ids]));
    },
    onGap: onReadAgain,
  });
  return { appeared, isStarted };
}
