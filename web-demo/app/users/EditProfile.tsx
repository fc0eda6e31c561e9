import { type ProfileHeadFragment, UpdateProfileDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { FormDialog } from "../controls/FormDialog";
import { YourData } from "./YourData";

/** The server's limit, in characters. */
const MAX_NAME = 40;

/** A dialog for the viewer's name, and for what is held of them. */
export function EditProfile({ user, onClose }: { user: ProfileHeadFragment; onClose: () => void }) {
  const update = useAction(UpdateProfileDocument);
  async function send(form: FormData): Promise<boolean> {
    const { error } = await update({ name: String(form.get("name")).trim() });
    return !error;
  }
  return (
    <FormDialog
      title="Edit your profile"
      action={["Save", "Saving…"]}
      onSend={send}
      onClose={onClose}
      below={<YourData userId={user.id} />}
    >
      <label>
        Name
        <input name="name" required pattern=".*\S.*" maxLength={MAX_NAME} autoComplete="off" defaultValue={user.name} />
      </label>
    </FormDialog>
  );
}
