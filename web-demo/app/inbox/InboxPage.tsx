import { CheckCheck } from "lucide-react";
import { useState } from "react";
import { type InboxBadge, type InboxBadgesFragment, MarkInboxReadDocument } from "../../shared/api/generated";
import { Button } from "../../shared/ui/Button";
import { ForViewer } from "../layout/ForViewer";
import { PageHead } from "../layout/PageHead";
import { useAction } from "../../shared/api/useAction";
import { InboxEntries } from "./InboxEntries";
import { InboxTabs } from "./InboxTabs";
import { BADGES, total, unreadOf } from "./badges";

/** The inbox: all entries, or those of one badge. */
export default function InboxPage() {
  return (
    <ForViewer what="your inbox" title="Inbox">
      {({ inbox }) => inbox && <Inbox inbox={inbox} />}
    </ForViewer>
  );
}

function Inbox({ inbox }: { inbox: InboxBadgesFragment }) {
  const [badge, setBadge] = useState<InboxBadge | null>(null);
  /** How often the list was read from its beginning. */
  const [reading, setReading] = useState(1);
  const markRead = useAction(MarkInboxReadDocument);
  const unread = unreadOf(inbox);

  async function markAllRead() {
    const { error } = await markRead({ badges: BADGES });
    if (!error) setReading(reading + 1);
  }

  return (
    <>
      <PageHead title="Inbox">
        <Button look="quiet" onClick={markAllRead} disabled={total(unread) === 0}>
          <CheckCheck size={17} aria-hidden="true" /> Mark all read
        </Button>
      </PageHead>
      <InboxTabs unread={unread} value={badge} onChange={setBadge} />
      <InboxEntries key={reading} badge={badge} onRenew={() => setReading(reading + 1)} />
    </>
  );
}
