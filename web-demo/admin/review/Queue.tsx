import { useEffect, useRef, useState } from "react";
import { useSubscription } from "urql";
import { Endless } from "../../shared/lists/Endless";
import { usePages } from "../../shared/lists/usePages";
import {
  type ModerationState,
  ReviewQueueDocument,
  UndecidedCommentsDocument,
  UndecidedNotesDocument,
} from "../../shared/api/generated";
import { ABOUT } from "../panels/explained";
import { Card } from "../ui/Card";
import { Figure } from "../ui/Figure";
import { count, duration, words } from "../ui/format";
import { WaitingComment } from "./WaitingComment";
import { WaitingNote } from "./WaitingNote";
import styles from "./review.module.css";
import { useEvery } from "./useEvery";

/** How often the oldest wait is computed again, in milliseconds: time passes without events. */
const EVERY_MS = 5_000;

/** The length of the queue, and what waits for a person: the oldest first, more on scroll. */
export function Queue() {
  const queue = useLiveQueue();
  const undecided = queue?.undecidedCount;
  const comments = usePages(UndecidedCommentsDocument, {}, (data) => data.undecidedComments);
  const notes = usePages(UndecidedNotesDocument, {}, (data) => data.undecidedNotes);
  useReread(queue?.event, comments.endless.onRetry);
  useReread(queue?.event, notes.endless.onRetry);
  // What was decided stays in the cache's list, in its new state.
  const waitingComments = comments.nodes.filter(({ comment }) => waits(comment));
  const waitingNotes = notes.nodes.filter(({ note }) => waits(note));
  const oldest = [waitingComments[0]?.comment, waitingNotes[0]?.note].flatMap((of) => of?.createdAt ?? []).sort()[0];

  const lists = useRef<HTMLDivElement>(null);
  const [announcement, announce] = useState("");
  // The button with the focus disappears with its text.
  function decided(outcome: string) {
    lists.current?.focus();
    announce(outcome);
  }

  const isDone = [comments, notes].every(({ endless }) => !endless.isLoading && !endless.error && !endless.hasMore);
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
      {isDone && waitingComments.length === 0 && waitingNotes.length === 0 && (
        <p className={styles.none}>Nothing waits for a person.</p>
      )}
      <div ref={lists} tabIndex={-1} className={styles.lists}>
        <Endless {...notes.endless} isLoading={notes.endless.isLoading && notes.nodes.length === 0}>
          <ul className={styles.list} aria-label="Notes that wait for a person">
            {waitingNotes.map((waiting) => (
              <WaitingNote key={waiting.note.id} waiting={waiting} onDecided={decided} />
            ))}
          </ul>
        </Endless>
        <Endless {...comments.endless} isLoading={comments.endless.isLoading && comments.nodes.length === 0}>
          <ul className={styles.list} aria-label="Comments that wait for a person">
            {waitingComments.map((waiting) => (
              <WaitingComment key={waiting.comment.id} waiting={waiting} onDecided={decided} />
            ))}
          </ul>
        </Endless>
      </div>
      <p role="status" className="only-heard">
        {announcement}
      </p>
    </Card>
  );
}

interface Judged {
  state: ModerationState;
  pendingEdit: { state: ModerationState } | null;
}

/** Whether the text, or the next one, waits for a decision. */
const waits = ({ state, pendingEdit }: Judged) => state === "PENDING" || pendingEdit?.state === "PENDING";

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
