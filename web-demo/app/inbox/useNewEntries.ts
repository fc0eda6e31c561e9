import { useState } from "react";
import { NOTHING, type Unread, increase, minimum, total } from "./badges";

/**
 * New entries of the inbox, derived from its badges. `unread`: counts when the list was read, so that its marks stay
 * while it is shown. `arrived`: counts of newer entries, which the list does not show yet.
 */
export function useNewEntries(badges: Unread | undefined, isRead: boolean): { unread: Unread; arrived: Unread } {
  const [unread, setUnread] = useState<Unread>();
  /** The badges without new entries; they fall when entries are marked as read. */
  const [floor, setFloor] = useState<Unread>();
  if (badges && isRead && !unread) {
    setUnread(badges);
    setFloor(badges);
  }
  if (badges && floor && total(increase(floor, badges)) > 0) setFloor(minimum(floor, badges));
  return { unread: unread ?? NOTHING, arrived: badges && floor ? increase(badges, floor) : NOTHING };
}
