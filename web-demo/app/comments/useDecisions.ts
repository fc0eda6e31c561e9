import { useEffect } from "react";
import { useClient } from "urql";
import { type CommentItemFragment, CommentsAgainDocument } from "../../shared/api/generated";

/** Polling interval in milliseconds. It doubles, because a program decides at once and a person later. */
const FIRST_MS = 150;
const MAX_MS = 30_000;

/** Polls decisions about the viewer's pending comments: rejections are not pushed, nor are decisions about edits. */
export function useDecisions(pending: CommentItemFragment[]) {
  const client = useClient();
  const ids = pending.map(({ id }) => id).join();
  useEffect(() => {
    if (!ids) return;
    let wait = FIRST_MS;
    let timer = setTimeout(poll, wait);
    function poll() {
      client.query(CommentsAgainDocument, { ids: ids.split(",") }, { requestPolicy: "network-only" }).toPromise();
      wait = Math.min(wait * 2, MAX_MS);
      timer = setTimeout(poll, wait);
    }
    return () => clearTimeout(timer);
  }, [client, ids]);
}
