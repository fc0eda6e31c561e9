import { Check, Trash2 } from "lucide-react";
import { type ReportedQuery, type ReviewDecision } from "../../shared/api/generated";
import { ModerateUser } from "../../shared/moderation/ModerateUser";
import { REASONS } from "../../shared/reports";
import { Avatar } from "../../shared/ui/Avatar";
import { Button } from "../../shared/ui/Button";
import { TimeAgo } from "../../shared/ui/TimeAgo";
import styles from "../review/review.module.css";

type ReportedObject = NonNullable<NonNullable<ReportedQuery["reviewQueue"]>["items"]>["nodes"][number];

interface Props {
  reported: ReportedObject;
  onDecided: (id: string, decision: ReviewDecision) => void;
}

/** A reported note or comment: its text, who reported it and why. */
export function ReportedItem({ reported: { about, reportCount, reasons, reports, queuedAt }, onDecided }: Props) {
  if (about?.__typename !== "Note" && about?.__typename !== "Comment") return null;
  const isNote = about.__typename === "Note";
  const what = isNote ? "note" : "comment";
  const name = about.author?.name ?? "somebody";
  const page = isNote ? about.id : about.note?.id;
  return (
    <li className={styles.pending} aria-label={`Reported ${what} by ${name}`}>
      <Avatar name={name} size={36} />
      <div>
        <p className={styles.about}>
          <a href={`/note/${page}`}>{isNote ? (about.title ?? "Note") : "Comment"}</a> by{" "}
          {about.author ? <a href={`/user/${about.author.id}`}>{name}</a> : name}
          {" · first reported "}
          <TimeAgo at={queuedAt} />
        </p>
        <p className={styles.body}>{isNote ? about.body : about.text}</p>
        <p className={styles.why}>
          {reportCount} {reportCount === 1 ? "report" : "reports"}:{" "}
          {reasons.map((of) => `${REASONS[of.reason]} (${of.reportCount})`).join(", ")}
        </p>
        {reports?.nodes.map(({ reporter, text, reportedAt }) =>
          text ? (
            <p key={`${reporter?.id} ${reportedAt}`} className={styles.why}>
              {reporter?.name ?? "Somebody"}: {text}
            </p>
          ) : null,
        )}
      </div>
      <div className={styles.decide}>
        <Button onClick={() => onDecided(about.id, "KEEP")} aria-label={`Keep the ${what} by ${name}`}>
          <Check size={16} aria-hidden="true" /> Keep
        </Button>
        <Button onClick={() => onDecided(about.id, "REMOVE")} aria-label={`Remove the ${what} by ${name}`}>
          <Trash2 size={16} aria-hidden="true" /> Remove
        </Button>
      </div>
      {about.author && (
        <div className={styles.author}>
          <span>The author:</span>
          <ModerateUser user={about.author} />
        </div>
      )}
    </li>
  );
}
