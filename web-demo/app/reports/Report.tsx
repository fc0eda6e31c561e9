import { Flag } from "lucide-react";
import { useState } from "react";
import { ReportThisCommentDocument, ReportThisNoteDocument, type ReportReason } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { useShowMessage } from "../../shared/ui/toasts";
import styles from "./Report.module.css";
import { ReportDialog } from "./ReportDialog";

/** A button that reports somebody else's note or comment, with a dialog for the reason. */
export function Report({ of, id }: { of: "note" | "comment"; id: string }) {
  const reportNote = useAction(ReportThisNoteDocument);
  const reportComment = useAction(ReportThisCommentDocument);
  const showMessage = useShowMessage();
  const [isOpen, setOpen] = useState(false);
  async function send(why: ReportReason, text: string) {
    const said = { why, text: text.trim() || undefined };
    const { error } = await (of === "note"
      ? reportNote({ noteId: id, ...said })
      : reportComment({ commentId: id, ...said }));
    if (!error) showMessage("Thank you. Moderators will look at it.");
  }
  return (
    <>
      <button type="button" className={styles.report} aria-label={`Report this ${of}`} onClick={() => setOpen(true)}>
        <Flag size={17} aria-hidden="true" />
      </button>
      {isOpen && <ReportDialog what={of} onSend={send} onClose={() => setOpen(false)} />}
    </>
  );
}
