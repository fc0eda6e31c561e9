import { Gavel } from "lucide-react";
import { useState } from "react";
import { useQuery } from "urql";
import { SuspendThisUserDocument, UnsuspendThisUserDocument, UserSuspensionDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { Button } from "../../shared/ui/Button";
import confirmStyles from "../../shared/ui/Confirm.module.css";
import { Dialog } from "../../shared/ui/Dialog";
import styles from "./suspension.module.css";
import { when } from "./when";

const DAY_MS = 86_400_000;

/** A moderator's button on a profile: suspends the user for a day or a week, or lifts the suspension. */
export function Suspend({ user }: { user: { id: string; name: string } }) {
  const [{ data }] = useQuery({ query: UserSuspensionDocument, variables: { id: user.id } });
  const suspend = useAction(SuspendThisUserDocument);
  const lift = useAction(UnsuspendThisUserDocument);
  const [isAsking, setAsking] = useState(false);
  const suspension = data?.user?.suspension;
  const close = (days: string) => {
    if (days) suspend({ userId: user.id, until: new Date(Date.now() + Number(days) * DAY_MS).toISOString() });
    setAsking(false);
  };
  return (
    <p className={styles.moderator}>
      {suspension ? (
        <>
          Suspended until {when(suspension.endsAt)}.
          <Button onClick={() => lift({ userId: user.id })}>Lift the suspension</Button>
        </>
      ) : (
        <Button onClick={() => setAsking(true)}>
          <Gavel size={16} aria-hidden="true" /> Suspend
        </Button>
      )}
      {isAsking && (
        <Dialog title={`Suspend ${user.name}?`} onClose={close}>
          <p className={confirmStyles.text}>Every action of theirs is refused until then. What they did before stays.</p>
          <div className={confirmStyles.buttons}>
            <Button type="submit" value="">
              Cancel
            </Button>
            <Button type="submit" value="1">
              For a day
            </Button>
            <Button type="submit" value="7" className={confirmStyles.yes}>
              For a week
            </Button>
          </div>
        </Dialog>
      )}
    </p>
  );
}
