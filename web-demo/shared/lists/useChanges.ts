import { useEffect, useEffectEvent, useState } from "react";
import { type AnyVariables, type DocumentInput, type OperationResult, stringifyVariables, useClient } from "urql";

/** A list is read without its subscription if that has not started after this many milliseconds. */
const PATIENCE_MS = 1_000;

interface Changes {
  hasMore: boolean;
}

interface Handlers<Found> {
  onChanges: (changes: Found) => void;
  /** There are changes that no message has: read the list again. */
  onGap: () => void;
}

/**
 * Receives what is new in a list, each change once, also over reconnections (schema/PROTOCOL.md, "Lists"). `find` gets
 * the changes from a message. Returns whether the list may be read: from then on nothing is missed.
 */
export function useChanges<Data, Variables extends AnyVariables, Found extends Changes>(
  document: DocumentInput<Data, Variables>,
  variables: Variables,
  find: (data: Data) => Found,
  { onChanges, onGap }: Handlers<Found>,
): boolean {
  const client = useClient();
  const [isStarted, setStarted] = useState(false);
  const receive = useEffectEvent(({ data, error }: OperationResult<Data, Variables>, isFirst: boolean) => {
    if (isFirst) return setStarted(true);
    const changes = data && !error && find(data);
    if (changes) onChanges(changes);
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
  useEffect(() => {
    const timer = setTimeout(() => setStarted(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, []);
  return isStarted;
}
