import { ArrowUp } from "lucide-react";
import { useState } from "react";
import { type InboxEntryFragment, InboxEntriesDocument, type InboxKind } from "../../shared/api/generated";
import { Button } from "../../shared/ui/Button";
import { exactly } from "../../shared/ui/Count";
import { Empty } from "../../shared/ui/States";
import { Endless } from "../../shared/lists/Endless";
import { usePages } from "../../shared/lists/usePages";
import { EntryRow } from "./EntryRow";
import styles from "./InboxEntries.module.css";
import { BADGE_OF, NOTHING, type Unread, total, unreadOf } from "./badges";
import { useMarkRead } from "./useMarkRead";
import { useNews } from "./useNews";

/** The server lists all kinds together: after this many entries of other kinds a button asks whether to continue. */
const PATIENCE = 500;

interface Props {
  /** Null for all. */
  kind: InboxKind | null;
  /** Reads the list from its beginning. */
  onRenew: () => void;
}

/** The entries, unread ones marked; a button offers entries that arrived since. */
export function InboxEntries({ kind, onRenew }: Props) {
  const find = usePages(InboxEntriesDocument, {}, (data) => data.viewer?.inbox?.entries, "cache-and-network");
  const { data, nodes, endless, isStale } = find;
  const [patience, setPatience] = useState(PATIENCE);
  const badges = data?.viewer?.inbox ? unreadOf(data.viewer.inbox) : undefined;
  const { unread, arrived } = useNews(badges, !endless.isLoading && !isStale);

  const isSeen = badges && kind && total(unread) > 0 && arrived[kind] === 0 && badges[kind] > 0;
  useMarkRead(isSeen ? kind : undefined);

  const shown = marked(nodes, unread).filter(({ entry }) => !kind || BADGE_OF[entry.kind] === kind);
  const last = shown.at(-1)?.entry;
  const isPatient = nodes.length - (last ? nodes.indexOf(last) : 0) <= patience;
  const isEmpty = shown.length === 0 && !endless.isLoading && !isStale && !endless.error && !endless.hasMore;
  const news = kind ? arrived[kind] : total(arrived);

  return (
    <>
      {news > 0 && (
        <div className={styles.news} role="status">
          <Button look="primary" onClick={onRenew}>
            <ArrowUp size={16} aria-hidden="true" /> Show {exactly(news)} new
          </Button>
        </div>
      )}
      <Endless {...endless} hasMore={endless.hasMore && isPatient}>
        {isEmpty && <Empty title="All quiet.">What others do with what you made, you read here.</Empty>}
        <ul>
          {shown.map(({ entry, isUnread }) => (
            <li key={entry.id}>
              <EntryRow entry={entry} isUnread={isUnread} />
            </li>
          ))}
        </ul>
      </Endless>
      {endless.hasMore && !isPatient && !endless.error && (
        <div className={styles.further}>
          {shown.length === 0 && <p>None among the newest {exactly(nodes.length)}.</p>}
          <Button onClick={() => setPatience(nodes.length + PATIENCE)}>Look further back</Button>
        </div>
      )}
    </>
  );
}

/** The newest entries of each badge, as many as it counts, are unread. */
function marked(entries: InboxEntryFragment[], unread: Unread) {
  const left = { ...NOTHING, ...unread };
  return entries.map((entry) => ({ entry, isUnread: left[BADGE_OF[entry.kind]]-- > 0 }));
}
