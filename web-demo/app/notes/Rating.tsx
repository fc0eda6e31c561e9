import { Star } from "lucide-react";
import { useEffect, useId, useState } from "react";
import { RateNoteDocument, UnrateNoteDocument } from "../../shared/api/generated";
import { exactly, abbreviated } from "../../shared/ui/Count";
import { Button } from "../../shared/ui/Button";
import { useAction } from "../../shared/api/useAction";
import { type WholeNote } from "./wholeNote";
import styles from "./Rating.module.css";

const SCORES = Array.from({ length: 11 }, (_, score) => score);
/** A choice is sent after this pause: arrow keys pass over scores, and two responses could arrive out of order. */
const SEND_AFTER_MS = 300;

/** The average rating of a note, 0 to 10, and the viewer's own. */
export function Rating({ note }: { note: WholeNote }) {
  const [isOpen, setOpen] = useState(false);
  const { chosen, choose, takeBack } = useChoice(note);
  const scaleId = useId();
  const { ratingAverage, ratingCount } = note;
  return (
    <section className={styles.rating} aria-label="Rating">
      <div className={styles.line}>
        <Star size={20} className={ratingAverage === null ? undefined : styles.star} aria-hidden="true" />
        {ratingAverage === null ? (
          <span>Nobody has rated this yet.</span>
        ) : (
          <span>
            <b data-average={ratingAverage}>{ratingAverage.toFixed(1)}</b> of 10 ·{" "}
            <span title={exactly(ratingCount)} data-ratings={ratingCount}>
              {abbreviated(ratingCount)} {ratingCount === 1 ? "rating" : "ratings"}
            </span>
          </span>
        )}
        <Button look="quiet" aria-expanded={isOpen} aria-controls={scaleId} onClick={() => setOpen(!isOpen)}>
          {chosen === null ? "Rate it" : `You gave ${chosen}`}
        </Button>
      </div>
      <fieldset id={scaleId} className={styles.scale} hidden={!isOpen}>
        <legend className="only-heard">Your rating from 0 to 10</legend>
        {SCORES.map((score) => (
          <label key={score}>
            <input
              type="radio"
              name={scaleId}
              value={score}
              checked={score === chosen}
              onChange={() => choose(score)}
            />
            <span>{score}</span>
          </label>
        ))}
        {chosen !== null && (
          <Button look="quiet" onClick={takeBack}>
            Take it back
          </Button>
        )}
      </fieldset>
    </section>
  );
}

/** The viewer's rating: the last choice until it is sent, then the cached value. */
function useChoice({ id: noteId, viewerRating }: WholeNote) {
  const rate = useAction(RateNoteDocument);
  const unrate = useAction(UnrateNoteDocument);
  const [unsent, setUnsent] = useState<number>();
  useEffect(() => {
    if (unsent === undefined) return;
    const timer = setTimeout(() => {
      rate({ noteId, score: unsent });
      setUnsent(undefined);
    }, SEND_AFTER_MS);
    return () => clearTimeout(timer);
  }, [rate, noteId, unsent]);
  const takeBack = () => {
    setUnsent(undefined);
    unrate({ noteId });
  };
  return { chosen: unsent ?? viewerRating, choose: setUnsent, takeBack };
}
