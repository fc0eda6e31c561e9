import { useEffect } from "react";
import { type InboxBadge, MarkInboxReadDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";

/** A list that was visible for this many milliseconds counts as read. */
const LOOK_MS = 1_500;

/** Marks the entries of a badge up to the cursor `upTo` as read after a pause; does nothing if one of them is `undefined`. */
export function useMarkRead(badge: InboxBadge | undefined, upTo: string | undefined) {
  const markRead = useAction(MarkInboxReadDocument);
  useEffect(() => {
    if (!badge || !upTo) return;
    const timer = setTimeout(() => void markRead({ badges: [badge], upTo }), LOOK_MS);
    return () => clearTimeout(timer);
  }, [badge, upTo, markRead]);
}
