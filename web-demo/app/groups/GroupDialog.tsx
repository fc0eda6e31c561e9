import { FormDialog } from "../controls/FormDialog";

/** The server's limits, in characters. */
const MAX_NAME = 80;
const MAX_DESCRIPTION = 1000;

interface Props {
  title: string;
  /** Text of the button, before and while it is sent. */
  action: [string, string];
  before?: { name: string; description: string };
  /** Resolves to whether it succeeded. */
  onSend: (texts: { name: string; description: string }) => Promise<boolean>;
  onClose: () => void;
}

/** A dialog for the texts of a group. */
export function GroupDialog({ title, action, before, onSend, onClose }: Props) {
  const send = (form: FormData) => {
    const text = (field: string) => String(form.get(field)).trim();
    return onSend({ name: text("name"), description: text("description") });
  };
  return (
    <FormDialog title={title} action={action} onSend={send} onClose={onClose}>
      <label>
        Name
        <input
          name="name"
          required
          pattern=".*\S.*"
          maxLength={MAX_NAME}
          autoComplete="off"
          defaultValue={before?.name}
        />
      </label>
      <label>
        What is it about?
        <textarea name="description" rows={4} maxLength={MAX_DESCRIPTION} defaultValue={before?.description} />
      </label>
    </FormDialog>
  );
}
