import { useState } from "react";
import { NOTHING, type Unread, increase, minimum, total } from "./badges";

/** How much each badge rose since the list was read: events that the list does not show yet. */
export function useNewEntries(badges: Unread | undefined, isRead: boolean): Unread {
  /** The badges without new events; they fall when entries are marked as read. */
  const [floor, setFloor] = useState<Unread>();
  if (badges && isRead && !floor) setFloor(badges);
  if (badges && floor && total(increase(floor, badges)) > 0) setFloor(minimum(floor, badges));
  return badges && floor ? increase(badges, floor) : NOTHING;
}
