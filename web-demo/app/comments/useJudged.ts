import { useEffect } from "react";
import { useClient } from "urql";
import { type CommentItemFragment, CommentsAgainDocument } from "../../shared/api/generated";

/** A moderator that is a program answers within moments, a person later: asked ever less often. */
const FIRST_MS = 150;
const LONGEST_MS = 30_000;

/**
 * Asks what became of own comments that wait. Nothing pushes that: an approval moves `commentCount`, so a change of
 * it is a reason to ask at once; a rejection moves nothing.
 */
export function useJudged(pending: CommentItemFragment[], commentCount: number | undefined) {
  const client = useClient();
  const ids = pending.map(({ id }) => id).join();
  useEffect(() => {
    if (!ids) return;
    let wait = FIRST_MS;
    let timer = setTimeout(ask, wait);
    function ask() {
      client.query(CommentsAgainDocument, { ids: ids.split(",") }, { requestPolicy: "network-only" }).toPromise();
      wait = Math.min(wait * 2, LONGEST_MS);
      timer = setTimeout(ask, wait);
    }
    return () => clearTimeout(timer);
  }, [client, ids, commentCount]);
}
