import { UnpublishedNotesDocument } from "../../shared/api/generated";
import { usePages } from "../../shared/lists/usePages";
import { NoteCard } from "./NoteCard";
import styles from "./Unpublished.module.css";

/** The viewer's notes that others do not see, above the published ones. Nothing if there are none. */
export function Unpublished() {
  const list = usePages(UnpublishedNotesDocument, {}, (data) => data.viewer?.unpublishedNotes, "cache-and-network");
  // An approved one stays in the cache's list.
  const notes = list.nodes.filter(({ state }) => state !== "APPROVED");
  if (notes.length === 0) return null;
  return (
    <section aria-label="Your notes that others do not see" className={styles.unpublished}>
      {notes.map((note) => (
        <NoteCard key={note.id} note={note} />
      ))}
    </section>
  );
}
