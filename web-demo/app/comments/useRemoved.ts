import { useEffect, useEffectEvent, useRef } from "react";
import { useClient } from "urql";
import { CommentsAgainDocument } from "../../shared/api/generated";
import { chunks } from "../lists/chunks";

/** As many as one query takes. */
const MOST = 100;

/**
 * Takes removed comments off the page. Nothing pushes that one is gone, but the count above it falls: then it is
 * asked which of those that are shown are still there, and the cache drops the others.
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
