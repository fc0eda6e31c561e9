import { useEffect } from "react";
import { useQuery, useSubscription } from "urql";
import { useApi } from "../../shared/api/client";
import { InboxCountsDocument, ViewerDocument } from "../../shared/api/generated";

/**
 * The viewer with live badges. A viewer with an inbox has a user, so a null viewer beside inbox counts is outdated: the
 * query runs once more, whichever of the two answers arrives first.
 */
export function useLiveViewer() {
  const { session } = useApi();
  const [{ data }, ask] = useQuery({ query: ViewerDocument, pause: !session });
  const [{ data: heard }] = useSubscription({ query: InboxCountsDocument, pause: !session });
  const isNobody = data?.viewer === null;
  const hasInbox = heard !== undefined;
  useEffect(() => {
    if (isNobody && hasInbox) ask({ requestPolicy: "network-only" });
  }, [isNobody, hasInbox, ask]);
  return data?.viewer;
}
