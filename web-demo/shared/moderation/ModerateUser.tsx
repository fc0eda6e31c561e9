import { EyeOff } from "lucide-react";
import { useState } from "react";
import { useQuery } from "urql";
import { HideUserDocument, RestoreUserDocument, UserStandingDocument } from "../api/generated";
import { useAction } from "../api/useAction";
import { Button } from "../ui/Button";
import { Confirm } from "../ui/Confirm";
import styles from "./ModerateUser.module.css";
import { Suspend } from "./Suspend";

/** A moderator's buttons for a user: suspend, hide, and undo both. */
export function ModerateUser({ user }: { user: { id: string; name: string } }) {
  const [{ data }] = useQuery({ query: UserStandingDocument, variables: { id: user.id } });
  if (!data?.user) return null;
  const { suspension, visibility } = data.user;
  return (
    <div role="group" aria-label={`Moderate ${user.name}`} className={styles.moderate}>
      <Suspend user={user} suspension={suspension} />
      <Hide user={user} isHidden={visibility?.isHidden ?? false} />
    </div>
  );
}

function Hide({ user: { id: userId, name }, isHidden }: { user: { id: string; name: string }; isHidden: boolean }) {
  const hide = useAction(HideUserDocument);
  const restore = useAction(RestoreUserDocument);
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      {isHidden ? (
        <div className={styles.state}>
          <span>Hidden.</span>
          <Button onClick={() => restore({ userId })} aria-label={`Show ${name} again`}>
            Show again
          </Button>
        </div>
      ) : (
        <Button onClick={() => setAsking(true)} aria-label={`Hide ${name}`}>
          <EyeOff size={16} aria-hidden="true" /> Hide
        </Button>
      )}
      {isAsking && (
        <Confirm
          title={`Hide ${name}?`}
          text="Nobody else sees what they wrote, and nothing of theirs counts. It can be shown again."
          action="Hide"
          onYes={() => hide({ userId })}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}
