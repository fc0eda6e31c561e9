import { Gavel } from "lucide-react";
import { useId, useRef, useState } from "react";
import { type StandingFragment, SuspendUserDocument, UnsuspendUserDocument } from "../api/generated";
import { useAction } from "../api/useAction";
import { Button } from "../ui/Button";
import confirmStyles from "../ui/Confirm.module.css";
import { Dialog } from "../ui/Dialog";
import styles from "./ModerateUser.module.css";
import { when } from "./when";

const DAY_MS = 86_400_000;
/** The server's limit, in characters. */
const MAX_REASON = 200;

interface Props {
  user: { id: string; name: string };
  suspension: StandingFragment["suspension"];
}

/** Suspends a user for a day or a week, with a reason, or lifts the suspension. */
export function Suspend({ user: { id: userId, name }, suspension }: Props) {
  const suspend = useAction(SuspendUserDocument);
  const lift = useAction(UnsuspendUserDocument);
  const [isAsking, setAsking] = useState(false);
  const reason = useRef<HTMLInputElement>(null);
  const reasonId = useId();
  const close = (days: string) => {
    const until = new Date(Date.now() + Number(days) * DAY_MS).toISOString();
    if (days) suspend({ userId, until, reason: reason.current?.value.trim() || undefined });
    setAsking(false);
  };
  return (
    <>
      {suspension ? (
        <div className={styles.state}>
          <span>Suspended until {when(suspension.endsAt)}.</span>
          <Button onClick={() => lift({ userId })} aria-label={`Lift the suspension of ${name}`}>
            Lift
          </Button>
        </div>
      ) : (
        <Button onClick={() => setAsking(true)} aria-label={`Suspend ${name}`}>
          <Gavel size={16} aria-hidden="true" /> Suspend
        </Button>
      )}
      {isAsking && (
        <Dialog title={`Suspend ${name}?`} onClose={close}>
          <div className={styles.why}>
            <p>They can still read, but whatever they do is refused. What they did before stays.</p>
            <label htmlFor={reasonId}>Reason, shown to the user</label>
            <input
              ref={reason}
              id={reasonId}
              maxLength={MAX_REASON}
              autoComplete="off"
              // Enter would press the first button, which cancels.
              onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
            />
          </div>
          <div className={confirmStyles.buttons}>
            <Button type="submit" value="">
              Cancel
            </Button>
            <Button type="submit" value="1" className={confirmStyles.yes}>
              1 day
            </Button>
            <Button type="submit" value="7" className={confirmStyles.yes}>
              1 week
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}
