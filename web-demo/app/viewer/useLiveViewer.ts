import { useEffect } from "react";
import { useQuery, useSubscription } from "urql";
import { useApi } from "../../shared/api/client";
import { InboxCountsDocument, ViewerDocument } from "../../shared/api/generated";

/**
 * The viewer with badges that are live. Who has an inbox is somebody, so an answer that the viewer is nobody is of a
 * moment before: it is asked for once more, whichever of the two comes first.
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
