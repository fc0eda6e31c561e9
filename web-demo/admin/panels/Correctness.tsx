import { useReadings } from "../metrics/useMonitor";
import { Card } from "../ui/Card";
import { Figure } from "../ui/Figure";
import { count } from "../ui/format";
import { deadEvents } from "./alarms";
import { ABOUT } from "./explained";
import styles from "./panels.module.css";

/** Drift, dead events and lost events. */
export function Correctness() {
  const now = useReadings();
  const drift = now.value("plaudit_reconcile_drift_total");
  const repaired = now.value("plaudit_reconcile_repaired_total");
  const lost = now.value("plaudit_lost_events_total");
  const dead = deadEvents(now);
  return (
    <Card title="Correctness">
      <div className={styles.figures}>
        <Figure about={ABOUT.drift} value={drift} format={count("found")} />
        <Figure about={ABOUT.repaired} value={repaired} format={count("repaired")} isBad={(repaired ?? 0) < (drift ?? 0)} />
        <Figure about={ABOUT.dead} value={dead} format={count("events")} isBad={!!dead} />
        <Figure about={ABOUT.lost} value={lost} format={count("events")} isBad={!!lost} />
      </div>
      <p className={styles.soft}>
        {now.value("plaudit_reconcile_checked_total") === undefined
          ? "This process has recounted nothing yet."
          : `Recounted since the start: ${count("entities")(now.value("plaudit_reconcile_checked_total")!).join(" ")}.`}
      </p>
    </Card>
  );
}
