import { useState } from "react";
import { Avatar } from "../../shared/ui/Avatar";
import { exactly, abbreviated } from "../../shared/ui/Count";
import styles from "./Likers.module.css";
import { LikersDialog } from "./LikersDialog";
import { type WholeNote } from "./wholeNote";

const FACES = 3;

/** The newest likers of a note; a click opens the whole list. */
export function Likers({ note }: { note: WholeNote }) {
  const [all, setAll] = useState(false);
  const likers = note.likers?.nodes ?? [];
  const first = likers[0];
  // Keeps its height without likes, so that the first like does not shift the page.
  if (!first || note.likeCount === 0) return <p className={styles.none}>Nobody likes this yet.</p>;
  const others = note.likeCount - 1;
  return (
    <>
      <button type="button" className={styles.likers} aria-haspopup="dialog" onClick={() => setAll(true)}>
        <span className={styles.faces}>
          {likers.slice(0, FACES).map(({ id, name }) => (
            <Avatar key={id} name={name} size={26} />
          ))}
        </span>
        <span>
          Liked by <b>{first.name}</b>
          {others > 0 && (
            <span title={exactly(others)}>
              {" "}
              and {abbreviated(others)} {others === 1 ? "other" : "others"}
            </span>
          )}
        </span>
      </button>
      {all && <LikersDialog noteId={note.id} onClose={() => setAll(false)} />}
    </>
  );
}
