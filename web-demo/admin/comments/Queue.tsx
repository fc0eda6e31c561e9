import { useEffect } from "react";
import { useQuery } from "urql";
import { Endless } from "../../app/layout/Endless";
import { usePages } from "../../app/layout/usePages";
import { CommentQueueDocument, PendingCommentsDocument } from "../../shared/api/generated";
import { ABOUT } from "../panels/explained";
import { Card } from "../ui/Card";
import { Figure } from "../ui/Figure";
import { count, duration } from "../ui/format";
import { Pending } from "./Pending";
import styles from "./comments.module.css";
import { useEvery } from "./useEvery";

/** How much waits is asked for this often; nothing tells of it by itself. */
const EVERY_MS = 5_000;

/** How much waits to be judged, and what waits for a person: the oldest first, more on scroll. */
export function Queue() {
  const [{ data }, ask] = useQuery({ query: CommentQueueDocument });
  useEvery(EVERY_MS, () => ask({ requestPolicy: "network-only" }));
  const queue = data?.commentQueue;
  const { nodes, endless } = usePages(PendingCommentsDocument, {}, (data) => data.pendingComments);
  // What was decided here stays in the cache's list, in its new state.
  const waiting = nodes.filter(({ comment }) => comment.state === "PENDING");

  // New ones stand at the end of the list.
  const { onRetry } = endless;
  useEffect(() => {
    if (queue?.undecidedCount) onRetry();
  }, [queue?.undecidedCount, onRetry]);

  return (
    <Card title="Comments that wait" span={3}>
      <div className={styles.figures}>
        <Figure about={ABOUT.undecided} value={queue?.undecidedCount} format={count("comments")} />
        <Figure about={ABOUT.waiting} value={queue?.waitingCount} format={count("comments")} />
        <Figure about={ABOUT.oldestWait} value={queue?.oldestWaitingSeconds} format={duration} />
      </div>
      <Endless {...endless} isLoading={endless.isLoading && nodes.length === 0}>
        {waiting.length === 0 && !endless.isLoading && !endless.error && !endless.hasMore && (
          <p className={styles.none}>No comment waits for a person.</p>
        )}
        <ul className={styles.list} aria-label="Comments that wait for a person">
          {waiting.map((pending) => (
            <Pending key={pending.comment.id} pending={pending} />
          ))}
        </ul>
      </Endless>
    </Card>
  );
}
