import { useState } from "react";
import { NOTHING, type Unread, lower, risen, total } from "./badges";

/**
 * New entries of the inbox, derived from its badges. `unread`: unread when the list was read, so that its marks stay
 * while it is shown. `arrived`: newer entries, which the list does not show yet.
 */
export function useNews(badges: Unread | undefined, isRead: boolean): { unread: Unread; arrived: Unread } {
  const [unread, setUnread] = useState<Unread>();
  /** Badges without what arrived: they fall when something is marked as read. */
  const [floor, setFloor] = useState<Unread>();
  if (badges && isRead && !unread) {
    setUnread(badges);
    setFloor(badges);
  }
  if (badges && floor && total(risen(floor, badges)) > 0) setFloor(lower(floor, badges));
  return { unread: unread ?? NOTHING, arrived: badges && floor ? risen(badges, floor) : NOTHING };
}
