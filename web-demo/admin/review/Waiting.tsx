import { Check, X } from "lucide-react";
import { useState } from "react";
import { DecideDocument, type UndecidedQuery } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { Avatar } from "../../shared/ui/Avatar";
import { Button } from "../../shared/ui/Button";
import { TimeAgo } from "../../shared/ui/TimeAgo";
import { Reject } from "./Reject";
import styles from "./review.module.css";

type Item = NonNullable<NonNullable<UndecidedQuery["reviewQueue"]>["items"]>["nodes"][number];
type Judged = Extract<NonNullable<Item["about"]>, { __typename: "Note" | "Comment" }>;

/** What the item is about, if its text, or the next one, waits for a decision. */
export function waiting({ about }: Item): Judged | undefined {
  if (about?.__typename !== "Note" && about?.__typename !== "Comment") return undefined;
  return about.state === "PENDING" || about.pendingEdit?.state === "PENDING" ? about : undefined;
}

interface Props {
  about: Judged;
  /** Why it waits for a person. */
  reason: string | null;
  /** Called before the response; if the action fails, the text is listed again. */
  onDecided: (outcome: string) => void;
}

/** A text that waits for a person, the reason why, and buttons to decide it. */
export function Waiting({ about, reason, onDecided }: Props) {
  const [isRejecting, setRejecting] = useState(false);
  const decide = useAction(DecideDocument);
  const what = about.__typename === "Note" ? "note" : "comment";
  const name = about.author?.name ?? "Somebody";
  return (
    <li className={styles.pending} aria-label={`${what === "note" ? "Note" : "Comment"} by ${name}`}>
      <Avatar name={name} size={36} />
      <div className={styles.what}>
        <p className={styles.about}>
          {about.author ? <a href={`/user/${about.author.id}`}>{name}</a> : name}
          {" · "}
          <TimeAgo at={about.createdAt} />
          {about.__typename === "Comment" && about.note && (
            <>
              {" · on "}
              <a href={`/note/${about.note.id}`}>{about.note.title ?? "a note"}</a>
            </>
          )}
        </p>
        {about.pendingEdit && (
          <p className={styles.why}>
            Edited. Everybody sees: {(about.__typename === "Note" ? about.title : about.text) || "no text"}
          </p>
        )}
        <Text about={about} />
        {reason && <p className={styles.why}>Reason: {reason}</p>}
      </div>
      {isRejecting ? (
        <Reject
          onReject={(reason) => {
            decide({ id: about.id, decision: "REJECT", reason });
            onDecided("Rejected.");
          }}
          onCancel={() => setRejecting(false)}
        />
      ) : (
        <div className={styles.decide}>
          <Button
            onClick={() => {
              decide({ id: about.id, decision: "APPROVE" });
              onDecided("Approved.");
            }}
            aria-label={`Approve the ${what} by ${name}`}
          >
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

/** The next text, or the text itself. */
function Text({ about }: { about: Judged }) {
  if (about.__typename === "Note") {
    const { title, body } = about.pendingEdit ?? about;
    return (
      <>
        <p className={styles.title}>
          <a href={`/note/${about.id}`}>{title ?? "Untitled"}</a>
        </p>
        <p className={styles.body}>{body}</p>
      </>
    );
  }
  return (
    <>
      <p className={styles.body}>{about.pendingEdit ? about.pendingEdit.body : about.text}</p>
      {(about.pendingEdit ?? about).images.map((address) => (
        // Images are not shown: this page sends no requests to other hosts.
        <a key={address} href={address} rel="noreferrer" target="_blank" className={styles.image}>
          {address}
        </a>
      ))}
    </>
  );
}
