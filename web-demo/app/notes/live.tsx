import { type ReactNode, useRef } from "react";
import { useSubscription } from "urql";
import { NoteCountsDocument } from "../../shared/api/generated";
import { useInView } from "../../shared/lists/useInView";

/** Events per second and note in a list: people do not read faster. */
const LIST_RATE = 5;

/**
 * Keeps the counts of `noteIds` (at most 100) live while their place is near the screen. The cache takes what comes;
 * nothing is drawn here.
 */
export function LiveNotes({ noteIds, children }: { noteIds: string[]; children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  const isNear = useInView(place, "200px");
  return (
    <div ref={place}>
      {isNear && <Listener noteIds={noteIds} />}
      {children}
    </div>
  );
}

/** Alone in its component, so that an event draws only what shows its numbers. */
function Listener({ noteIds }: { noteIds: string[] }) {
  useSubscription({ query: NoteCountsDocument, variables: { noteIds, maxRate: LIST_RATE } });
  return null;
}
