import { useSubscription } from "urql";
import { UserCountsDocument } from "../../shared/api/generated";
import { LIST_RATE } from "../../shared/lists/WhileNear";

/** Keeps the counts of users (at most 100) live. Alone, so that an event draws only what shows its numbers. */
export function UserListener({ ids }: { ids: string[] }) {
  useSubscription({ query: UserCountsDocument, variables: { userIds: ids, maxRate: LIST_RATE } });
  return null;
}
