import { useState } from "react";
import { useClient } from "urql";
import {
  InboxEntriesDocument,
  type InboxEntryAddedSubscription,
  InboxEntryAddedDocument,
  type InboxEntryFragment,
} from "../../shared/api/generated";
import { useChanges } from "../../shared/lists/useChanges";
import { NOTHING, type Unread } from "./badges";

type Added = InboxEntryAddedSubscription["inboxEntryAdded"]["entries"][number];

/** How many entries of each badge have come since the list was read. */
export function useNewEntries(listed: InboxEntryFragment[]): Unread {
  const client = useClient();
  /** By what makes entries one: another event replaces the entry of its group. */
  const [added, setAdded] = useState<ReadonlyMap<string, Added>>(new Map());
  const readAgain = () => {
    client.query(InboxEntriesDocument, { after: null }, { requestPolicy: "network-only" }).toPromise();
  };
  useChanges(InboxEntryAddedDocument, {}, (data) => data.inboxEntryAdded, {
    onStart: readAgain,
    onGap: readAgain,
    onChanges: ({ entries }) =>
      setAdded((before) => new Map([...before, ...entries.map((entry) => [groupOf(entry), entry] as const)])),
  });
  const isListed = ({ id }: Added) => listed.some((entry) => entry.id === id);
  return [...added.values()]
    .filter((entry) => !isListed(entry))
    .reduce((counts, { badge }) => ({ ...counts, [badge]: counts[badge] + 1 }), NOTHING);
}

const groupOf = ({ id, kind, about }: Added): string => (about ? `${kind} ${about.id}` : id);
