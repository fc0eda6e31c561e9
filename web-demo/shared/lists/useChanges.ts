import { useEffect, useEffectEvent } from "react";
import { type AnyVariables, type DocumentInput, type OperationResult, stringifyVariables, useClient } from "urql";

interface Changes {
  hasMore: boolean;
}

interface Handlers<Found> {
  /** From now on every change comes: read the list once more. */
  onStart: () => void;
  onChanges?: (changes: Found) => void;
  /** There are changes that no message has: read the list. */
  onGap: () => void;
}

/**
 * Receives what is new in a list, each change once, also over reconnections (schema/PROTOCOL.md, "Lists"). `find` gets
 * the changes from a message.
 */
export function useChanges<Data, Variables extends AnyVariables, Found extends Changes>(
  document: DocumentInput<Data, Variables>,
  variables: Variables,
  find: (data: Data) => Found,
  { onStart, onChanges, onGap }: Handlers<Found>,
) {
  const client = useClient();
  const receive = useEffectEvent(({ data, error }: OperationResult<Data, Variables>, isFirst: boolean) => {
    if (isFirst) return onStart();
    const changes = data && !error && find(data);
    if (changes) onChanges?.(changes);
    if (!changes || changes.hasMore) onGap();
  });
  const subscribe = useEffectEvent(() => {
    let isFirst = true;
    return client.subscription(document, variables).subscribe((result) => {
      receive(result, isFirst);
      isFirst = false;
    });
  });
  const key = stringifyVariables(variables);
  useEffect(() => subscribe().unsubscribe, [client, document, key]);
}
