import { useEffect } from "react";
import { useClient } from "urql";
import { type CommentItemFragment, CommentsAgainDocument } from "../../shared/api/generated";

/** Milliseconds between two questions, growing: a program decides at once, a person later. */
const FIRST_MS = 150;
const LONGEST_MS = 30_000;

/**
 * Polls the decisions about the viewer's pending comments, which are not pushed. An approval moves `commentCount`, so
 * a change of it triggers a question at once; a rejection moves no count.
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
