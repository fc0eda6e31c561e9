import { Heart } from "lucide-react";
import { useQuery } from "urql";
import { Link } from "wouter";
import { HotNowDocument } from "../../shared/api/generated";
import { Count } from "../../shared/ui/Count";
import { LiveNotes } from "../notes/live";
import styles from "./HotNow.module.css";

const MAX_NOTES = 5;

/** The hottest notes of the day, shown beside every page. */
export function HotNow() {
  const [{ data }] = useQuery({ query: HotNowDocument });
  const notes = data?.hotNotes?.nodes.slice(0, MAX_NOTES) ?? [];
  if (notes.length === 0) return null;
  return (
    <section className={styles.hot} aria-labelledby="hot-now">
      <h2 id="hot-now">Hot today</h2>
      <LiveNotes noteIds={notes.map(({ id }) => id)}>
        <ol>
          {notes.map(({ id, title, author, likeCount }) => (
            <li key={id}>
              <Link href={`/note/${id}`}>
                <span className={styles.title}>{title ?? "Untitled"}</span>
                <span className={styles.about}>
                  {author?.name ?? "Somebody"}
                  <span className={styles.likes}>
                    <Heart size={14} aria-hidden="true" />
                    <Count value={likeCount} />
                    <span className="only-heard">likes</span>
                  </span>
                </span>
              </Link>
            </li>
          ))}
        </ol>
      </LiveNotes>
      <Link href="/hot" className={styles.more}>
        Show more
      </Link>
    </section>
  );
}
