import { useState } from "react";
import {
  type InboxEntryAddedSubscription,
  InboxEntryAddedDocument,
  type InboxEntryFragment,
} from "../../shared/api/generated";
import { useChanges } from "../../shared/lists/useChanges";
import { NOTHING, type Unread } from "./badges";

type Added = InboxEntryAddedSubscription["inboxEntryAdded"]["entries"][number];

/** Entries that came since the list was read, and whether it may be read. */
export function useNewEntries(onReadAgain: () => void) {
  /** By their ids: another event moves an entry. */
  const [added, setAdded] = useState<ReadonlyMap<string, Added>>(new Map());
  const isStarted = useChanges(InboxEntryAddedDocument, {}, (data) => data.inboxEntryAdded, {
    onChanges: ({ entries }) =>
      setAdded((before) => new Map([...before, ...entries.map((entry) => [entry.id, entry] as const)])),
    onGap: onReadAgain,
  });
  return { added: [...added.values()], isStarted };
}

/** How many of the added entries are not listed, by badge. */
export function unlisted(added: Added[], listed: InboxEntryFragment[]): Unread {
  const isListed = ({ cursor }: Added) => listed.some((entry) => entry.cursor === cursor);
  return added
    .filter((entry) => !isListed(entry))
    .reduce((counts, { badge }) => ({ ...counts, [badge]: counts[badge] + 1 }), NOTHING);
}
