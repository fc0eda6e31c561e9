import { useCallback, useState } from "react";
import { type AnyVariables, type DocumentInput, type RequestPolicy, useQuery } from "urql";

interface Connection<Node> {
  nodes: Node[];
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

/**
 * A paginated list; `find` gets its connection from the result. The cache joins the pages, so `nodes` has all loaded
 * ones. `endless` are the props of `Endless`. With `cache-and-network`, the first page is read again whenever the list
 * appears: for lists that change on other pages. A paused list is not read yet.
 */
export function usePages<Data, Variables extends AnyVariables & { after?: string | null }, Node>(
  document: DocumentInput<Data, Variables>,
  variables: Omit<Variables, "after">,
  find: (data: Data) => Connection<Node> | null | undefined,
  firstPage: RequestPolicy = "cache-first",
  isPaused = false,
) {
  const [after, setAfter] = useState<string | null>(null);
  const [{ data, fetching, stale, error }, run] = useQuery({
    query: document,
    variables: { ...variables, after } as unknown as Variables,
    requestPolicy: after === null ? firstPage : "cache-first",
    pause: isPaused,
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
      // No loading state while the first page is read again.
      isLoading: isPaused || fetching || (stale && (after !== null || nodes.length === 0)),
      error,
      onMore: useCallback(() => setAfter(endCursor), [endCursor]),
      onRetry: useCallback(() => run({ requestPolicy: "network-only" }), [run]),
    },
  };
}
