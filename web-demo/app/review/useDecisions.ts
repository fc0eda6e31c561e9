import { useEffect } from "react";
import { useClient } from "urql";
import { CommentsAgainDocument, NotesAgainDocument } from "../../shared/api/generated";

/** Polling interval in milliseconds. It doubles, because a program decides at once and a person later. */
const FIRST_MS = 150;
const MAX_MS = 30_000;

const DOCUMENTS = { comments: CommentsAgainDocument, notes: NotesAgainDocument };

export type Judged = keyof typeof DOCUMENTS;

/**
 * Polls the decisions about the viewer's notes or comments that wait: rejections are not pushed, nor are decisions about
 * edits.
 */
export function useDecisions(of: Judged, pending: string[]) {
  const client = useClient();
  const ids = pending.join();
  useEffect(() => {
    if (!ids) return;
    let wait = FIRST_MS;
    let timer = setTimeout(poll, wait);
    function poll() {
      client.query(DOCUMENTS[of], { ids: ids.split(",") }, { requestPolicy: "network-only" }).toPromise();
      wait = Math.min(wait * 2, MAX_MS);
      timer = setTimeout(poll, wait);
    }
    return () => clearTimeout(timer);
  }, [client, of, ids]);
}
