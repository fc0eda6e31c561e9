import { useEffect } from "react";
import { useQuery, useSubscription } from "urql";
import { useApi } from "../../shared/api/client";
import { InboxCountsDocument, ViewerDocument } from "../../shared/api/generated";

/**
 * The viewer with live badges. Inbox counts mean that the viewer has a user, so a null user is outdated then: the
 * query runs again, in whichever order the two results arrive.
 */
export function useLiveViewer() {
  const { session } = useApi();
  const [{ data }, refetch] = useQuery({ query: ViewerDocument, pause: !session });
  const [{ data: inboxCounts }] = useSubscription({ query: InboxCountsDocument, pause: !session });
  const isNull = data?.viewer?.user === null;
  const hasInbox = inboxCounts !== undefined;
  useEffect(() => {
    if (isNull && hasInbox) refetch({ requestPolicy: "network-only" });
  }, [isNull, hasInbox, refetch]);
  return data?.viewer;
}
