import { Download, Trash2 } from "lucide-react";
import { useState } from "react";
import { useClient } from "urql";
import { EraseUserDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { Button } from "../../shared/ui/Button";
import { Confirm } from "../../shared/ui/Confirm";
import { sentence } from "../../shared/ui/States";
import { useShowMessage } from "../../shared/ui/toasts";
import styles from "./YourData.module.css";
import { exported } from "./exported";

/** Buttons of the viewer: download everything that is held of them, and erase it. */
export function YourData({ userId }: { userId: string }) {
  const client = useClient();
  const erase = useAction(EraseUserDocument);
  const showMessage = useShowMessage();
  const [isDownloading, setDownloading] = useState(false);
  const [isConfirming, setConfirming] = useState(false);

  async function downloadNow() {
    setDownloading(true);
    const { lines, error } = await exported(client, userId);
    setDownloading(false);
    if (error) showMessage(sentence(error));
    else download("my-data.jsonl", lines);
  }
  async function eraseAndLeave() {
    const { error } = await erase({ userId });
    // Everything that the page holds is the erased user's.
    if (!error) location.assign("/");
  }
  return (
    <div className={styles.data}>
      <Button onClick={downloadNow} disabled={isDownloading}>
        <Download size={16} aria-hidden="true" /> {isDownloading ? "Collecting…" : "Download my data"}
      </Button>
      <Button className={styles.erase} onClick={() => setConfirming(true)}>
        <Trash2 size={16} aria-hidden="true" /> Delete my account
      </Button>
      {isConfirming && (
        <Confirm
          title="Delete your account?"
          text="Everything of yours is erased: notes, comments, likes, follows and the rest. This cannot be undone."
          action="Delete it"
          onYes={eraseAndLeave}
          onClose={() => setConfirming(false)}
        />
      )}
    </div>
  );
}

/** Hands a file to the browser, one line per text. */
function download(name: string, lines: string[]) {
  const url = URL.createObjectURL(new Blob(lines.map((line) => `${line}\n`)));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}
