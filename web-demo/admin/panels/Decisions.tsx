import { useReadings } from "../metrics/useMonitor";
import { Card } from "../ui/Card";
import { Figure } from "../ui/Figure";
import { count } from "../ui/format";
import { ABOUT } from "./explained";
import styles from "./panels.module.css";

/** Texts that wait for the configured moderator or for a person, counted by the owner of shard 0. */
export function Decisions() {
  const now = useReadings();
  const pending = (state: string) => now.value("plaudit_review_queue", { state });
  return (
    <Card
      title="Review queue"
      aside={
        <a href="#review" className={styles.link}>
          Decide
        </a>
      }
    >
      <div className={styles.figures}>
        <Figure about={ABOUT.undecided} value={pending("undecided")} format={count("texts")} />
        <Figure about={ABOUT.waiting} value={pending("waiting")} format={count("texts")} />
      </div>
    </Card>
  );
}
