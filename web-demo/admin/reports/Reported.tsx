import { useRef, useState } from "react";
import { useQuery } from "urql";
import { DecideAboutReportsDocument, type ReportDecision, ReportedDocument } from "../../shared/api/generated";
import { useAction } from "../../shared/api/useAction";
import { Problem } from "../../shared/ui/States";
import styles from "../review/review.module.css";
import { useEvery } from "../review/useEvery";
import { Card } from "../ui/Card";
import { ReportedItem } from "./ReportedItem";

/** How often the list is read again, in milliseconds; there is no subscription for it. */
const EVERY_MS = 5_000;

/** What users reported, the most reported first, with buttons to keep or remove it. */
export function Reported() {
  const [{ data, error, fetching }, run] = useQuery({ query: ReportedDocument });
  const refresh = () => run({ requestPolicy: "network-only" });
  useEvery(EVERY_MS, refresh);
  const decide = useAction(DecideAboutReportsDocument);
  const list = useRef<HTMLUListElement>(null);
  const [announcement, announce] = useState("");
  async function decided(id: string, decision: ReportDecision) {
    // The button with the focus disappears with its row.
    list.current?.focus();
    const { error } = await decide({ id, decision });
    if (!error) announce(decision === "KEEP" ? "Kept." : "Removed.");
    refresh();
  }
  const reported = data?.reportedObjects?.nodes ?? [];
  return (
    <Card title="Reported" span={3}>
      {error && !data && <Problem error={error} retry={refresh} />}
      {reported.length === 0 && !fetching && !error && <p className={styles.none}>Nobody reported anything.</p>}
      <ul ref={list} tabIndex={-1} className={styles.list} aria-label="Reported notes and comments">
        {reported.map((item) => (
          <ReportedItem key={item.about?.id ?? item.firstReportedAt} reported={item} onDecided={decided} />
        ))}
      </ul>
      <p role="status" className="only-heard">
        {announcement}
      </p>
    </Card>
  );
}
