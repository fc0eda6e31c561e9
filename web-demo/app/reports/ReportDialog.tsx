import { useState } from "react";
import { type ReportReason } from "../../shared/api/generated";
import { Button } from "../../shared/ui/Button";
import confirmStyles from "../../shared/ui/Confirm.module.css";
import { Dialog } from "../../shared/ui/Dialog";
import styles from "./ReportDialog.module.css";
import { REASONS } from "../../shared/reports";

/** The server's limit, in characters. */
const MAX_TEXT = 1000;

interface Props {
  what: "note" | "comment";
  onSend: (why: ReportReason, text: string) => void;
  onClose: () => void;
}

/** Asks why something is reported. */
export function ReportDialog({ what, onSend, onClose }: Props) {
  const [why, setWhy] = useState<ReportReason>("SPAM");
  const [text, setText] = useState("");
  const close = (answer: string) => {
    if (answer === "yes") onSend(why, text);
    onClose();
  };
  return (
    <Dialog title={`Report this ${what}`} onClose={close}>
      <div className={styles.form}>
        <p>Moderators see your report; the author does not.</p>
        <label>
          Why?
          <select value={why} onChange={(event) => setWhy(event.target.value as ReportReason)}>
            {Object.entries(REASONS).map(([reason, words]) => (
              <option key={reason} value={reason}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <label>
          More about it, if you like
          <textarea rows={3} maxLength={MAX_TEXT} value={text} onChange={(event) => setText(event.target.value)} />
        </label>
      </div>
      <div className={confirmStyles.buttons}>
        <Button type="submit" value="">
          Cancel
        </Button>
        <Button type="submit" value="yes" look="primary">
          Report
        </Button>
      </div>
    </Dialog>
  );
}
