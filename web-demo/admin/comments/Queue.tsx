import { useEffect, useRef, useState } from "react";
import { useSubscription } from "urql";
import { Endless } from "../../shared/lists/Endless";
import { usePages } from "../../shared/lists/usePages";
import { ReviewQueueDocument, UndecidedCommentsDocument } from "../../shared/api/generated";
import { ABOUT } from "../panels/explained";
import { Card } from "../ui/Card";
import { Figure } from "../ui/Figure";
import { count, duration, words } from "../ui/format";
import { Pending } from "./Pending";
import styles from "./comments.module.css";
import { useEvery } from "./useEvery";

/** How often a list that is shorter than the queue is read again, in milliseconds. */
const READ_AGAIN_MS = 2_000;
/** How often the oldest wait is computed again, in milliseconds: time passes without events. */
const EVERY_MS = 5_000;

/** The length of the queue, and the comments that wait for a person: the oldest first, more on scroll. */
export function Queue() {
  const queue = useLiveQueue();
  const { nodes, endless } = usePages(UndecidedCommentsDocument, {}, (data) => data.undecidedComments);
  // Decided comments stay in the cache's list, in their new state. Of one that everybody sees, an edit waits.
  const waiting = nodes.filter(({ comment }) => (comment.pendingEdit ?? comment).state === "PENDING");

  const list = useRef<HTMLUListElement>(null);
  const [announcement, announce] = useState("");
  // The button with the focus disappears with its comment.
  function decided(outcome: string) {
    list.current?.focus();
    announce(outcome);
  }

  // New comments are at the end of the list, so the last page is read again. The number alone does not tell of a
  // comment that arrives as another is decided.
  const { onRetry, hasMore, isLoading } = endless;
  const isIncomplete = !hasMore && !isLoading && (queue?.undecidedCount ?? 0) > waiting.length;
  useEffect(() => {
    if (queue?.undecidedCount) onRetry();
  }, [queue?.undecidedCount, onRetry]);
  useEvery(READ_AGAIN_MS, () => isIncomplete && onRetry());

  return (
    <Card title="Pending comments" span={3}>
      <div className={styles.figures}>
        <Figure
          about={ABOUT.undecided}
          value={queue?.undecidedCount}
          format={count("comments")}
          beside={waiting[0] && `oldest ${words(secondsSince(waiting[0].comment.createdAt), duration)}`}
        />
        <Figure about={ABOUT.waiting} value={queue?.waitingCount} format={count("comments")} />
        <Figure about={ABOUT.oldestWait} value={queue?.oldestWaitingSeconds} format={duration} />
      </div>
      <Endless {...endless} isLoading={endless.isLoading && nodes.length === 0}>
        {waiting.length === 0 && !endless.isLoading && !endless.error && !endless.hasMore && (
          <p className={styles.none}>No comment waits for a person.</p>
        )}
        <ul ref={list} tabIndex={-1} className={styles.list} aria-label="Comments that wait for a person">
          {waiting.map((pending) => (
            <Pending key={pending.comment.id} pending={pending} onDecided={decided} />
          ))}
        </ul>
      </Endless>
      <p role="status" className="only-heard">
        {announcement}
      </p>
    </Card>
  );
}

/** The length of the queue, and the oldest wait as of now. */
function useLiveQueue() {
  const [{ data }] = useSubscription({ query: ReviewQueueDocument });
  const queue = data?.reviewQueueChanged;
  const [receivedAt, setReceivedAt] = useState(0);
  const [now, setNow] = useState(0);
  useEffect(() => {
    setReceivedAt(Date.now());
    setNow(Date.now());
  }, [queue]);
  useEvery(EVERY_MS, () => setNow(Date.now()));
  if (!queue) return undefined;
  const { oldestWaitingSeconds: seconds, waitingCount } = queue;
  return { ...queue, oldestWaitingSeconds: waitingCount > 0 ? seconds + (now - receivedAt) / 1000 : seconds };
}

const secondsSince = (at: string) => Math.max(0, Date.now() - Date.parse(at)) / 1000;
