import { Clock, EyeOff } from "lucide-react";
import { type CommentItemFragment } from "../../shared/api/generated";
import styles from "./EditState.module.css";
import { useDecisions } from "./useDecisions";

interface Props {
  comment: CommentItemFragment;
  edit: NonNullable<CommentItemFragment["pendingEdit"]>;
}

const NONE: CommentItemFragment[] = [];

/** The viewer's new text of a published comment, and why others do not see it. */
export function EditState({ comment, edit: { body, state, rejectionReason } }: Props) {
  const isRejected = state === "REJECTED";
  useDecisions(isRejected ? NONE : [comment]);
  const Icon = isRejected ? EyeOff : Clock;
  return (
    <div className={styles.edit} data-state={state}>
      <p className={styles.state}>
        <Icon size={15} aria-hidden="true" />
        {isRejected
          ? `New text not published${rejectionReason ? `: ${rejectionReason}` : ""}`
          : "New text: waiting for approval"}
      </p>
      <p className={styles.body}>{body}</p>
    </div>
  );
}
