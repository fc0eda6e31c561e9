import { X } from "lucide-react";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { CreateGroupDocument, JoinGroupDocument } from "../../shared/api/generated";
import { Button } from "../../shared/ui/Button";
import { useAction } from "../../shared/api/useAction";
import styles from "./NewGroup.module.css";
import formStyles from "./form.module.css";
import { freshKey } from "./freshKey";

/** The server's limits, in characters. */
const MAX_NAME = 80;
const MAX_DESCRIPTION = 1000;

/** A dialog that creates a group, joins it (creating does not) and opens its page. */
export function NewGroup({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [key] = useState(freshKey);
  const [isSending, setSending] = useState(false);
  const [, go] = useLocation();
  const create = useAction(CreateGroupDocument);
  const join = useAction(JoinGroupDocument);
  const nameField = useRef<HTMLInputElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    nameField.current?.focus();
  }, []);

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setSending(true);
    const name = String(form.get("name")).trim();
    const { data } = await create({ name, description: String(form.get("description")).trim(), key });
    const groupId = data?.createGroup?.group.id;
    if (groupId) {
      await join({ groupId });
      go(`/group/${groupId}`);
    }
    setSending(false);
  }

  return (
    <dialog ref={dialog} className={styles.dialog} aria-label="New group" onClose={onClose}>
      <form className={formStyles.form} onSubmit={submit}>
        <header className={styles.head}>
          <h2>New group</h2>
          <button type="button" aria-label="Close" onClick={() => dialog.current?.close()}>
            <X size={20} />
          </button>
        </header>
        <label>
          Name
          <input ref={nameField} name="name" required pattern=".*\S.*" maxLength={MAX_NAME} autoComplete="off" />
        </label>
        <label>
          What is it about?
          <textarea name="description" rows={4} maxLength={MAX_DESCRIPTION} />
        </label>
        <footer>
          <Button look="quiet" onClick={() => dialog.current?.close()}>
            Cancel
          </Button>
          <Button look="primary" type="submit" disabled={isSending}>
            Create
          </Button>
        </footer>
      </form>
    </dialog>
  );
}
