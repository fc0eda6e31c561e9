import { Check, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Avatar } from "../../shared/ui/Avatar";
import { Button } from "../../shared/ui/Button";
import { TimeAgo } from "../../shared/ui/TimeAgo";
import { Reject } from "./Reject";
import styles from "./review.module.css";

interface Props {
  what: "comment" | "note";
  author: { id: string; name: string } | null | undefined;
  createdAt: string;
  /** Beside author and time. */
  place?: ReactNode;
  /** The text that everybody sees while an edit waits. */
  before?: string | null;
  /** Why it waits for a person. */
  reason: string;
  /** What waits. */
  children: ReactNode;
  onApprove: () => void;
  onReject: (reason: string) => void;
}

/** A text that waits for a person, the reason why, and buttons to decide it. */
export function Waiting({ what, author, createdAt, place, before, reason, children, onApprove, onReject }: Props) {
  const [isRejecting, setRejecting] = useState(false);
  const name = author?.name ?? "Somebody";
  return (
    <li className={styles.pending} aria-label={`${what === "note" ? "Note" : "Comment"} by ${name}`}>
      <Avatar name={name} size={36} />
      <div className={styles.what}>
        <p className={styles.about}>
          {author ? <a href={`/user/${author.id}`}>{name}</a> : name}
          {" · "}
          <TimeAgo at={createdAt} />
          {place}
        </p>
        {before != null && <p className={styles.why}>Edited. Everybody sees: {before}</p>}
        {children}
        <p className={styles.why}>Reason: {reason}</p>
      </div>
      {isRejecting ? (
        <Reject onReject={onReject} onCancel={() => setRejecting(false)} />
      ) : (
        <div className={styles.decide}>
          <Button onClick={onApprove} aria-label={`Approve the ${what} by ${name}`}>
            <Check size={16} aria-hidden="true" /> Approve
          </Button>
          <Button onClick={() => setRejecting(true)} aria-label={`Reject the ${what} by ${name}`}>
            <X size={16} aria-hidden="true" /> Reject
          </Button>
        </div>
      )}
    </li>
  );
}
