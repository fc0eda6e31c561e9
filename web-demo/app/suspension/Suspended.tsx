import { CircleAlert } from "lucide-react";
import { useQuery } from "urql";
import { useApi } from "../../shared/api/client";
import { MySuspensionDocument } from "../../shared/api/generated";
import { when } from "../../shared/moderation/when";
import styles from "./Suspended.module.css";

/** Tells a suspended viewer until when and why. A refused action reads it again (`shared/api/useAction.ts`). */
export function Suspended() {
  const { session } = useApi();
  const [{ data }] = useQuery({ query: MySuspensionDocument, pause: !session });
  const suspension = data?.viewer?.suspension;
  if (!suspension) return null;
  return (
    <div role="status" className={styles.banner}>
      <CircleAlert size={20} aria-hidden="true" />
      <div>
        <p>
          <strong>Your account is suspended until {when(suspension.endsAt)}.</strong>
        </p>
        {suspension.reason && <p>Reason: {suspension.reason}</p>}
        <p>You can read everything; what you do is refused until then.</p>
      </div>
    </div>
  );
}
