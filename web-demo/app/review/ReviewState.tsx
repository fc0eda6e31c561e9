import { Clock, EyeOff } from "lucide-react";
import { type ModerationState } from "../../shared/api/generated";
import styles from "./ReviewState.module.css";

interface Props {
  of: { state: ModerationState; rejectionReason: string | null };
}

/** Why others do not see what the viewer wrote. It replaces the actions, so that an approval does not shift the page. */
export function ReviewState({ of: { state, rejectionReason } }: Props) {
  const isRejected = state === "REJECTED";
  const Icon = isRejected ? EyeOff : Clock;
  return (
    <p className={styles.state} data-state={state}>
      <Icon size={15} aria-hidden="true" />
      {isRejected ? `Not published${rejectionReason ? `: ${rejectionReason}` : ""}` : "Waiting for approval"}
    </p>
  );
}
