import { useIsNear } from "plaudit-client/react";
import { useSubscription } from "urql";
import { UserCountsDocument } from "../../shared/api/generated";
import { LIST_RATE } from "../../shared/api/client";

/** Keeps the counts of users (at most 100) live. A component of its own, so that an event renders only the counts. */
export function UserListener({ ids }: { ids: string[] }) {
  useSubscription({ query: UserCountsDocument, variables: { userIds: ids, maxRate: LIST_RATE }, pause: !useIsNear() });
  return null;
}
