import { type MouseEvent, useCallback, useEffect, useId, useRef, useState } from "react";
import { useQuery, useSubscription } from "urql";
import { NotePageCountsDocument, NotePageDocument, UpdateNoteDocument } from "../../shared/api/generated";
import { useApi } from "../../shared/api/client";
import { isInvalidId } from "../../shared/api/errors";
import { useAction } from "../../shared/api/useAction";
import { Empty, Loading, Problem } from "../../shared/ui/States";
import { Comments } from "../comments/Comments";
import { Report } from "../reports/Report";
import { PageHead } from "../layout/PageHead";
import { EditState } from "../review/EditState";
import { ReviewState } from "../review/ReviewState";
import { useDecisions } from "../review/useDecisions";
import { useViewer } from "../viewer/useViewer";
import { Likers } from "./Likers";
import { NoteActions } from "./NoteActions";
import { Byline } from "./NoteCard";
import { NoteForm } from "./NoteForm";
import iconStyles from "../controls/IconButton.module.css";
import styles from "./NotePage.module.css";
import { OwnNote } from "./OwnNote";
import { Rating } from "./Rating";
import { useRecordView } from "./useRecordView";
import { type WholeNote } from "./wholeNote";

const NONE: string[] = [];

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
          <Listener note={note} onEdited={retry} />
          <NoteContent note={note} onComments={write} />
          {note.state === "APPROVED" && <Comments ref={comments} note={note} />}
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

/**
 * A component of its own, so that an event renders only the counts. Events say when the note was edited; its texts are
 * read only then, because they are longer than all counts.
 */
function Listener({ note, onEdited }: { note: WholeNote; onEdited: () => void }) {
  const [{ data }] = useSubscription({ query: NotePageCountsDocument, variables: { noteIds: [note.id] } });
  const shown = useRef(note.editedAt);
  const editedAt = data?.noteCountsChanged.editedAt;
  useEffect(() => {
    if (editedAt === undefined || editedAt === shown.current) return;
    shown.current = editedAt;
    onEdited();
  }, [editedAt, onEdited]);
  return null;
}

function NoteContent({ note, onComments }: { note: WholeNote; onComments: (event: MouseEvent) => void }) {
  const article = useRef<HTMLElement>(null);
  const titleId = useId();
  useRecordView(article, note.id);
  useDecisions("notes", note.state === "PENDING" ? [note.id] : NONE);
  const { session } = useApi();
  const viewer = useViewer();
  const isOwn = !!viewer && viewer.id === note.author?.id;
  const [isEditing, setEditing] = useState(false);
  return (
    <article ref={article} className={styles.note} aria-labelledby={titleId} data-note={note.id}>
      <div className={styles.head}>
        <Byline note={note} />
        {isOwn ? (
          !isEditing && <OwnNote note={note} onEdit={() => setEditing(true)} />
        ) : (
          session && (
            <div className={iconStyles.row}>
              <Report of="note" id={note.id} />
            </div>
          )
        )}
      </div>
      {isEditing ? (
        <Editor note={note} onClose={() => setEditing(false)} />
      ) : (
        <>
          <h2 id={titleId}>{note.title ?? "Untitled"}</h2>
          {note.body && <p className={styles.body}>{note.body}</p>}
          {note.pendingEdit && (
            <EditState of="notes" id={note.id} edit={note.pendingEdit}>
              <strong>{note.pendingEdit.title}</strong>
              <p>{note.pendingEdit.body}</p>
            </EditState>
          )}
        </>
      )}
      {note.state === "APPROVED" ? (
        <>
          <Likers note={note} />
          <Rating note={note} />
          <div className={styles.actions}>
            <NoteActions note={note} onComments={onComments} />
          </div>
        </>
      ) : (
        <ReviewState of={note} />
      )}
    </article>
  );
}

/** It starts with the texts that the viewer wrote last. */
function Editor({ note, onClose }: { note: WholeNote; onClose: () => void }) {
  const { title, body } = note.pendingEdit ?? note;
  const update = useAction(UpdateNoteDocument);
  async function send(newTitle: string, newBody: string): Promise<boolean> {
    const { error } = await update({ noteId: note.id, title: newTitle, body: newBody });
    return !error;
  }
  const before = { title: title ?? "", body: body ?? "" };
  return (
    <div className={styles.editor}>
      <NoteForm label="Edit the note" action={["Save", "Saving…"]} before={before} onSend={send} onClose={onClose} />
    </div>
  );
}
