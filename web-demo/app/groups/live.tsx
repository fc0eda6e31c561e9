import { useSubscription } from "urql";
import { GroupCountsDocument } from "../../shared/api/generated";

/** Events per second and group: people do not read faster. */
const RATE = 5;

/** Keeps the counts of groups (at most 100) live. Alone, so that an event draws only what shows its numbers. */
export function GroupListener({ ids }: { ids: string[] }) {
  useSubscription({ query: GroupCountsDocument, variables: { groupIds: ids, maxRate: RATE } });
  return null;
}
