import { useCallback } from "react";
import { type AnyVariables, type DocumentInput, type OperationResult, useClient } from "urql";
import { isSuspended } from "./errors";
import { MySuspensionDocument } from "./generated";
import { sentence } from "../ui/States";
import { useShowMessage } from "../ui/toasts";

/**
 * Runs a mutation with an optimistic result (`shared/api/cache.ts`). If it fails, the cache undoes that result and a
 * message says why.
 */
export function useAction<Data, Variables extends AnyVariables>(document: DocumentInput<Data, Variables>) {
  const client = useClient();
  const showMessage = useShowMessage();
  return useCallback(
    async (variables: Variables): Promise<OperationResult<Data, Variables>> => {
      const result = await client.mutation(document, variables).toPromise();
      if (result.error) showMessage(sentence(result.error));
      // Shows until when and why.
      if (isSuspended(result.error)) client.query(MySuspensionDocument, {}, { requestPolicy: "network-only" }).toPromise();
      return result;
    },
    [client, document, showMessage],
  );
}
