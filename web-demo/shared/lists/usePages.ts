import { useCallback, useState } from "react";
import { type AnyVariables, type DocumentInput, type RequestPolicy, useQuery } from "urql";

interface Connection<Node> {
  nodes: Node[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

/**
 * A list by pages: `find` says where in the answer it is. The cache joins its pages, so `nodes` are all that were
 * loaded. The result fits `Endless`. With `cache-and-network`, the first page is read again whenever the list
 * appears: for lists that change on other pages.
 */
export function usePages<Data, Variables extends AnyVariables & { after?: string | null }, Node>(
  document: DocumentInput<Data, Variables>,
  variables: Omit<Variables, "after">,
  find: (data: Data) => Connection<Node> | null | undefined,
  firstPage: RequestPolicy = "cache-first",
) {
  const [after, setAfter] = useState<string | null>(null);
  const [{ data, fetching, stale, error }, run] = useQuery({
    query: document,
    variables: { ...variables, after } as unknown as Variables,
    requestPolicy: after === null ? firstPage : "cache-first",
  });
  const list = data && find(data);
  const nodes = list?.nodes ?? [];
  const endCursor = list?.pageInfo.endCursor ?? null;
  return {
    data,
    nodes,
    /** The first page is being read again. */
    isStale: stale,
    endless: {
      // Pages after the old first page may not fit the new one.
      hasMore: !stale && (list?.pageInfo.hasNextPage ?? false),
      // Reading the first page again is nothing to wait for.
      isLoading: fetching || (stale && (after !== null || nodes.length === 0)),
      error,
      onMore: useCallback(() => setAfter(endCursor), [endCursor]),
      onRetry: useCallback(() => run({ requestPolicy: "network-only" }), [run]),
    },
  };
}
