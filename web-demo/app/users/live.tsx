import { useSubscription } from "urql";
import { UserCountsDocument } from "../../shared/api/generated";

/** Events per second and user: people do not read faster. */
const RATE = 5;

/** Keeps the counts of users (at most 100) live. Alone, so that an event draws only what shows its numbers. */
export function UserListener({ ids }: { ids: string[] }) {
  useSubscription({ query: UserCountsDocument, variables: { userIds: ids, maxRate: RATE } });
  return null;
}
