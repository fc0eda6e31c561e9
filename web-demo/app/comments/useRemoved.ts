import { useEffect, useEffectEvent, useRef } from "react";
import { useClient } from "urql";
import { CommentsAgainDocument } from "../../shared/api/generated";
import { chunks } from "../lists/chunks";

/** The limit of one query. */
const MOST = 100;

/**
 * Removes deleted comments from the page. A deletion is not pushed, but the count above the comment falls: then a query
 * asks which of the shown comments still exist, and the cache drops the others.
 */
export function useRemoved(shown: { id: string }[], count: number | undefined) {
  const client = useClient();
  const before = useRef(count);
  const ask = useEffectEvent(() => {
    for (const some of chunks(shown, MOST)) {
      const ids = some.map(({ id }) => id);
      client.query(CommentsAgainDocument, { ids }, { requestPolicy: "network-only" }).toPromise();
    }
  });
  useEffect(() => {
    const hasFallen = count !== undefined && before.current !== undefined && count < before.current;
    before.current = count;
    if (hasFallen) ask();
  }, [count]);
}
