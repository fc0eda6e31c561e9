import { Clock, EyeOff } from "lucide-react";
import { type CommentItemFragment } from "../../shared/api/generated";
import styles from "./CommentState.module.css";

/** Why others do not see the viewer's comment. It replaces the actions, so that an approval does not shift the page. */
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
