import { Clock, EyeOff } from "lucide-react";
import { type ReactNode } from "react";
import { type ModerationState } from "../../shared/api/generated";
import styles from "./EditState.module.css";
import { type Judged, useDecisions } from "./useDecisions";

interface Props {
  of: Judged;
  /** Of the note or comment. */
  id: string;
  edit: { state: ModerationState; rejectionReason: string | null };
  /** The new text. */
  children: ReactNode;
}

const NONE: string[] = [];

/** The viewer's new text of a published note or comment, and why others do not see it. */
export function EditState({ of, id, edit: { state, rejectionReason }, children }: Props) {
  const isRejected = state === "REJECTED";
  useDecisions(of, isRejected ? NONE : [id]);
  const Icon = isRejected ? EyeOff : Clock;
  return (
    <div className={styles.edit} data-state={state}>
      <p className={styles.state}>
        <Icon size={15} aria-hidden="true" />
        {isRejected
          ? `New text not published${rejectionReason ? `: ${rejectionReason}` : ""}`
          : "New text: waiting for approval"}
      </p>
      <div className={styles.body}>{children}</div>
    </div>
  );
}
