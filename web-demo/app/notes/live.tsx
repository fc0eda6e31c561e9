import { NearScreen, useIsNear } from "plaudit-client/react";
import { type ReactNode } from "react";
import { useSubscription } from "urql";
import { NoteCountsDocument } from "../../shared/api/generated";
import { LIST_RATE } from "../../shared/api/client";

/** Keeps the counts of `noteIds` (at most 100) live while they are near the screen. The cache applies the events. */
export function LiveNotes({ noteIds, children }: { noteIds: string[]; children: ReactNode }) {
  return (
    <NearScreen>
      <Listener noteIds={noteIds} />
      {children}
    </NearScreen>
  );
}

function Listener({ noteIds }: { noteIds: string[] }) {
  useSubscription({ query: NoteCountsDocument, variables: { noteIds, maxRate: LIST_RATE }, pause: !useIsNear() });
  return null;
}
