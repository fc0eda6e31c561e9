import { ApproveNoteDocument, RejectNoteDocument, type UndecidedNotesQuery } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { Waiting } from "./Waiting";
import styles from "./review.module.css";

type UndecidedNote = NonNullable<UndecidedNotesQuery["undecidedNotes"]>["nodes"][number];

interface Props {
  waiting: UndecidedNote;
  /** Called before the response; if the action fails, the note is listed again. */
  onDecided: (outcome: string) => void;
}

/** A note that waits for a person: its next texts, or the note itself. */
export function WaitingNote({ waiting: { reason, note }, onDecided }: Props) {
  const approve = useAction(ApproveNoteDocument);
  const reject = useAction(RejectNoteDocument);
  const { title, body } = note.pendingEdit ?? note;
  return (
    <Waiting
      what="note"
      author={note.author}
      createdAt={note.createdAt}
      before={note.pendingEdit && note.title}
      reason={reason}
      onApprove={() => {
        approve({ noteId: note.id });
        onDecided("Approved.");
      }}
      onReject={(reason) => {
        reject({ noteId: note.id, reason });
        onDecided("Rejected.");
      }}
    >
      <p className={styles.title}>
        <a href={`/note/${note.id}`}>{title}</a>
      </p>
      <p className={styles.body}>{body}</p>
    </Waiting>
  );
}
