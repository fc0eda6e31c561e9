import { type MouseEvent, useCallback, useId, useRef } from "react";
import { useQuery, useSubscription } from "urql";
import { NotePageCountsDocument, NotePageDocument } from "../../shared/api/generated";
import { isInvalidId } from "../../shared/api/errors";
import { Empty, Loading, Problem } from "../../shared/ui/States";
import { Comments } from "../comments/Comments";
import { PageHead } from "../layout/PageHead";
import { useViewer } from "../viewer/useViewer";
import { DeleteNote } from "./DeleteNote";
import { Likers } from "./Likers";
import { NoteActions } from "./NoteActions";
import { Byline } from "./NoteCard";
import styles from "./NotePage.module.css";
import { Rating } from "./Rating";
import { useRecordView } from "./views";
import { type WholeNote } from "./wholeNote";

/** A note with its counts, rating and comments. */
export default function NotePage({ noteId }: { noteId: string }) {
  const [{ data, error }, run] = useQuery({
    query: NotePageDocument,
    variables: { noteId },
    requestPolicy: "cache-and-network",
  });
  const retry = useCallback(() => run({ requestPolicy: "network-only" }), [run]);
  const note = data?.note;
  const comments = useRef<HTMLElement>(null);
  function write(event: MouseEvent) {
    event.preventDefault();
    comments.current?.querySelector("textarea")?.focus();
  }

  return (
    <>
      <PageHead title={note ? `Note by ${note.author?.name ?? "somebody"}` : "Note"} back />
      {note ? (
        <>
          <Listener noteId={noteId} />
          <NoteContent note={note} onComments={write} />
          <Comments ref={comments} note={note} />
        </>
      ) : data || isInvalidId(error) ? (
        <Empty title="There is no such note.">Perhaps it was removed.</Empty>
      ) : error ? (
        <Problem error={error} retry={retry} />
      ) : (
        <Loading rows={1} />
      )}
    </>
  );
}

/** A component of its own, so that an event renders only the counts. */
function Listener({ noteId }: { noteId: string }) {
  useSubscription({ query: NotePageCountsDocument, variables: { noteIds: [noteId] } });
  return null;
}

function NoteContent({ note, onComments }: { note: WholeNote; onComments: (event: MouseEvent) => void }) {
  const article = useRef<HTMLElement>(null);
  const titleId = useId();
  useRecordView(article, note.id);
  const viewer = useViewer();
  const isOwn = !!viewer && viewer.id === note.author?.id;
  return (
    <article ref={article} className={styles.note} aria-labelledby={titleId} data-note={note.id}>
      <div className={styles.head}>
        <Byline note={note} />
        {isOwn && <DeleteNote note={note} />}
      </div>
      <h2 id={titleId}>{note.title}</h2>
      <p className={styles.body}>{note.body}</p>
      <Likers note={note} />
      <Rating note={note} />
      <div className={styles.actions}>
        <NoteActions note={note} onComments={onComments} />
      </div>
    </article>
  );
}
