import { useEffect, useEffectEvent, useRef } from "react";
import { useClient } from "urql";
import { CommentsAgainDocument } from "../../shared/api/generated";
import { chunks } from "../lists/chunks";

/** The server's limit for one query. */
const MAX_IDS = 100;

/**
 * Removes deleted comments from the page. There is no event for a deletion, but the count of its parent falls: then
 * a query checks which of these comments still exist, and the cache drops the others.
 */
export function useRemoved(comments: { id: string }[], count: number | undefined) {
  const client = useClient();
  const before = useRef(count);
  const check = useEffectEvent(() => {
    for (const chunk of chunks(comments, MAX_IDS)) {
      const ids = chunk.map(({ id }) => id);
      client.query(CommentsAgainDocument, { ids }, { requestPolicy: "network-only" }).toPromise();
    }
  });
  useEffect(() => {
    const hasFallen = count !== undefined && before.current !== undefined && count < before.current;
    before.current = count;
    if (hasFallen) check();
  }, [count]);
}
