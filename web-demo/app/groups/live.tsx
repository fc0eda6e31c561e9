import { useIsNear } from "plaudit-client/react";
import { useSubscription } from "urql";
import { GroupCountsDocument, GroupPageCountsDocument } from "../../shared/api/generated";
import { LIST_RATE } from "../../shared/api/client";

/** Keeps the counts of groups (at most 100) live. A component of its own, so that an event renders only the counts. */
export function GroupListener({ ids }: { ids: string[] }) {
  useSubscription({ query: GroupCountsDocument, variables: { groupIds: ids, maxRate: LIST_RATE }, pause: !useIsNear() });
  return null;
}

/** Keeps the counts and the texts of the group of a page live. */
export function GroupPageListener({ id }: { id: string }) {
  useSubscription({ query: GroupPageCountsDocument, variables: { groupIds: [id] } });
  return null;
}
