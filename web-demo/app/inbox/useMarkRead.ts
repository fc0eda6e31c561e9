import { useEffect } from "react";
import { type InboxBadge, MarkInboxReadDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";

/** A list that was visible for this many milliseconds counts as read. */
const LOOK_MS = 1_500;

/** Marks a badge as read after a pause; does nothing if it is `undefined`. */
export function useMarkRead(badge: InboxBadge | undefined) {
  const markRead = useAction(MarkInboxReadDocument);
  useEffect(() => {
    if (!badge) return;
    const timer = setTimeout(() => void markRead({ badges: [badge] }), LOOK_MS);
    return () => clearTimeout(timer);
  }, [badge, markRead]);
}
