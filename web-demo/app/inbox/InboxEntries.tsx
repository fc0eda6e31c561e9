import { useState } from "react";
import { type InboxBadge, InboxEntriesDocument, type InboxEntriesQuery } from "../../shared/api/generated";
import { Button } from "../../shared/ui/Button";
import { exactly } from "../../shared/ui/Count";
import { Empty } from "../../shared/ui/States";
import { Endless } from "../../shared/lists/Endless";
import { usePages } from "../../shared/lists/usePages";
import { Offer } from "../lists/Offer";
import { EntryRow } from "./EntryRow";
import styles from "./InboxEntries.module.css";
import { total, unreadOf } from "./badges";
import { useMarkRead } from "./useMarkRead";
import { unlisted, useNewEntries } from "./useNewEntries";

/** The server lists all entries together: after this many entries of other badges a button offers to continue. */
const SEARCH_LIMIT = 500;

interface Props {
  /** Null for all. */
  badge: InboxBadge | null;
  /** Reads the list from its beginning. */
  onRenew: () => void;
}

/** The entries, with unread ones marked, and a button that shows newer entries. */
export function InboxEntries({ badge, onRenew }: Props) {
  const { added, isStarted } = useNewEntries(onRenew);
  const find = (data: InboxEntriesQuery) => data.viewer?.inbox?.entries;
  const pages = usePages(InboxEntriesDocument, {}, find, "cache-and-network", !isStarted);
  const { data, nodes, endless, isStale } = pages;
  const [searchLimit, setSearchLimit] = useState(SEARCH_LIMIT);
  const badges = data?.viewer?.inbox ? unreadOf(data.viewer.inbox) : undefined;
  const isCurrent = !endless.isLoading && !isStale;
  const arrived = unlisted(added, nodes);
  const visible = nodes.filter((entry) => !badge || entry.badge === badge);
  const isUnread = badges && badge && isCurrent && badges[badge] > 0;
  useMarkRead(isUnread ? badge : undefined, visible[0]?.cursor);

  const last = visible.at(-1);
  const isWithinLimit = nodes.length - (last ? nodes.indexOf(last) : 0) <= searchLimit;
  const isEmpty = visible.length === 0 && isCurrent && !endless.error && !endless.hasMore;
  const newCount = badge ? arrived[badge] : total(arrived);

  return (
    <>
      <Offer isLow text={newCount > 0 ? `${exactly(newCount)} new` : ""} onShow={onRenew} />
      <Endless {...endless} hasMore={endless.hasMore && isWithinLimit}>
        {isEmpty && <Empty title="No entries yet.">Likes, comments and new followers appear here.</Empty>}
        <ul>
          {visible.map((entry) => (
            <li key={entry.id}>
              <EntryRow entry={entry} />
            </li>
          ))}
        </ul>
      </Endless>
      {endless.hasMore && !isWithinLimit && !endless.error && (
        <div className={styles.further}>
          {visible.length === 0 && <p>None among the newest {exactly(nodes.length)}.</p>}
          <Button onClick={() => setSearchLimit(nodes.length + SEARCH_LIMIT)}>Search older entries</Button>
        </div>
      )}
    </>
  );
}
