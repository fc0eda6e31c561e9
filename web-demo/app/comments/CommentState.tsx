import { Clock, EyeOff } from "lucide-react";
import { type CommentItemFragment } from "../../shared/api/generated";
import styles from "./CommentState.module.css";

/** Why nobody else sees an own comment; it stands where the actions will, so that an approval moves nothing. */
export function CommentState({ comment: { state, rejectionReason } }: { comment: CommentItemFragment }) {
  const isRejected = state === "REJECTED";
  const Icon = isRejected ? EyeOff : Clock;
  return (
    <p className={styles.state} data-state={state}>
      <Icon size={15} aria-hidden="true" />
      {isRejected ? `Not published${rejectionReason ? `: ${rejectionReason}` : ""}` : "Waiting for approval"}
    </p>
  );
}
