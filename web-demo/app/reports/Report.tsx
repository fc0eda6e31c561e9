import { Flag } from "lucide-react";
import { useState } from "react";
import { ReportThisCommentDocument, ReportThisNoteDocument, type ReportReason } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { useShowMessage } from "../../shared/ui/toasts";
import { IconButton } from "../controls/IconButton";
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
      <IconButton icon={Flag} label={`Report this ${of}`} size={17} onClick={() => setOpen(true)} />
      {isOpen && <ReportDialog what={of} onSend={send} onClose={() => setOpen(false)} />}
    </>
  );
}
