import { useEffect, useRef, useState } from "react";
import { useSubscription } from "urql";
import { Endless } from "../../shared/lists/Endless";
import { usePages } from "../../shared/lists/usePages";
import { ReviewQueueDocument, UndecidedDocument } from "../../shared/api/generated";
import { ABOUT } from "../panels/explained";
import { Card } from "../ui/Card";
import { Figure } from "../ui/Figure";
import { count, duration, words } from "../ui/format";
import { Waiting, waiting } from "./Waiting";
import styles from "./review.module.css";
import { useEvery } from "./useEvery";

/** How often the oldest wait is computed again, in milliseconds: time passes without events. */
const EVERY_MS = 5_000;

/** The length of the queue, and what waits for a person: the oldest first, more on scroll. */
export function Queue() {
  const queue = useLiveQueue();
  const undecided = queue?.undecidedCount;
  const { nodes, endless } = usePages(UndecidedDocument, {}, (data) => data.reviewQueue?.items);
  useReread(queue?.event, endless.onRetry);
  // What was decided stays in the cache's list, in its new state.
  const listed = nodes.flatMap((item) => {
    const about = waiting(item);
    return about ? { ...item, about } : [];
  });
  const oldest = listed[0]?.queuedAt;

  const list = useRef<HTMLUListElement>(null);
  const [announcement, announce] = useState("");
  // The button with the focus disappears with its text.
  function decided(outcome: string) {
    list.current?.focus();
    announce(outcome);
  }

  const isDone = !endless.isLoading && !endless.error && !endless.hasMore;
  return (
    <Card title="Review" span={3}>
      <div className={styles.figures}>
        <Figure
          about={ABOUT.undecided}
          value={undecided}
          format={count("texts")}
          beside={oldest && `oldest ${words(secondsSince(oldest), duration)}`}
        />
        <Figure about={ABOUT.waiting} value={queue?.waitingCount} format={count("texts")} />
        <Figure about={ABOUT.oldestWait} value={queue?.oldestWaitingSeconds} format={duration} />
      </div>
      {isDone && listed.length === 0 && <p className={styles.none}>Nothing waits for a person.</p>}
      <Endless {...endless} isLoading={endless.isLoading && nodes.length === 0}>
        <ul ref={list} tabIndex={-1} className={styles.list} aria-label="What waits for a person">
          {listed.map(({ about, reason }) => (
            <Waiting key={about.id} about={about} reason={reason} onDecided={decided} />
          ))}
        </ul>
      </Endless>
      <p role="status" className="only-heard">
        {announcement}
      </p>
    </Card>
  );
}

/** Reads the last page again at each event while something waits: what is new is at the end of the list. */
function useReread(event: { undecidedCount: number } | undefined, read: () => void) {
  useEffect(() => {
    if (event?.undecidedCount) read();
  }, [event, read]);
}

/** The length of the queue, and the oldest wait as of now. */
function useLiveQueue() {
  const [{ data }] = useSubscription({ query: ReviewQueueDocument });
  const event = data?.reviewQueueChanged;
  const [receivedAt, setReceivedAt] = useState(0);
  const [now, setNow] = useState(0);
  useEffect(() => {
    setReceivedAt(Date.now());
    setNow(Date.now());
  }, [event]);
  useEvery(EVERY_MS, () => setNow(Date.now()));
  if (!event) return undefined;
  const { oldestWaitingSeconds: seconds, waitingCount } = event;
  return { ...event, event, oldestWaitingSeconds: waitingCount > 0 ? seconds + (now - receivedAt) / 1000 : seconds };
}

const secondsSince = (at: string) => Math.max(0, Date.now() - Date.parse(at)) / 1000;
