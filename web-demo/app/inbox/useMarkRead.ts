import { useEffect } from "react";
import { type InboxKind, MarkInboxReadDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";

/** A list that was visible for this many milliseconds counts as read. */
const LOOK_MS = 1_500;

/** Marks the badge of `kind` as read after a pause; does nothing if it is `undefined`. */
export function useMarkRead(kind: InboxKind | undefined) {
  const markRead = useAction(MarkInboxReadDocument);
  useEffect(() => {
    if (!kind) return;
    const timer = setTimeout(() => void markRead({ kinds: [kind] }), LOOK_MS);
    return () => clearTimeout(timer);
  }, [kind, markRead]);
}
