import { useEffect } from "react";
import { type InboxKind, MarkInboxReadDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";

/** Who looks at a list for so long has seen it. */
const LOOK_MS = 1_500;

/** Empties the badge of `kind` after one looked at it; `undefined` while there is nothing to empty. */
export function useMarkRead(kind: InboxKind | undefined) {
  const markRead = useAction(MarkInboxReadDocument);
  useEffect(() => {
    if (!kind) return;
    const timer = setTimeout(() => void markRead({ kinds: [kind] }), LOOK_MS);
    return () => clearTimeout(timer);
  }, [kind, markRead]);
}
