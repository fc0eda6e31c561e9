import { useEffect, useRef, useState } from "react";
import { useQuery, useSubscription } from "urql";
import { DecideDocument, ReportedDocument, type ReviewDecision, ReviewQueueDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { Problem } from "../../shared/ui/States";
import styles from "../review/review.module.css";
import { Card } from "../ui/Card";
import { ReportedItem } from "./ReportedItem";

/** What users reported, the most reported first, with buttons to keep or remove it. */
export function Reported() {
  const [{ data, error, fetching }, run] = useQuery({ query: ReportedDocument });
  const refresh = () => run({ requestPolicy: "network-only" });
  const [{ data: event }] = useSubscription({ query: ReviewQueueDocument });
  useEffect(() => run({ requestPolicy: "network-only" }), [event, run]);
  const decide = useAction(DecideDocument);
  const list = useRef<HTMLUListElement>(null);
  const [announcement, announce] = useState("");
  async function decided(id: string, decision: ReviewDecision) {
    // The button with the focus disappears with its row.
    list.current?.focus();
    const { error } = await decide({ id, decision });
    if (!error) announce(decision === "KEEP" ? "Kept." : "Removed.");
    refresh();
  }
  const reported = data?.reviewQueue?.items?.nodes ?? [];
  return (
    <Card title="Reported" span={3}>
      {error && !data && <Problem error={error} retry={refresh} />}
      {reported.length === 0 && !fetching && !error && <p className={styles.none}>Nobody reported anything.</p>}
      <ul ref={list} tabIndex={-1} className={styles.list} aria-label="Reported notes and comments">
        {reported.map((item) => (
          <ReportedItem key={item.about?.id ?? item.queuedAt} reported={item} onDecided={decided} />
        ))}
      </ul>
      <p role="status" className="only-heard">
        {announcement}
      </p>
    </Card>
  );
}
