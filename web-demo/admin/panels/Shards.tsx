import { Chart } from "../charts/Chart";
import { useReadings } from "../metrics/useMonitor";
import { Card } from "../ui/Card";
import { Figure } from "../ui/Figure";
import { count, duration, percent, words } from "../ui/format";
import { isLogHalfFull, isPersistLate } from "./alarms";
import { ABOUT } from "./explained";
import styles from "./panels.module.css";

/** The shards that this process owns: their fold lag, persist lag and log length. */
export function Shards() {
  const shards = useReadings().values("plaudit_log_entries", "shard");
  return (
    <Card title="Shards" span={3}>
      {shards.length === 0 && <p className={styles.soft}>This process owns no shard.</p>}
      <div className={styles.shards}>
        {shards.map((shard) => (
          <Shard key={shard} shard={shard} />
        ))}
      </div>
    </Card>
  );
}

function Shard({ shard }: { shard: string }) {
  const now = useReadings();
  const entries = now.value("plaudit_log_entries", { shard }) ?? 0;
  const limit = now.value("plaudit_log_limit_entries", { shard }) ?? 0;
  return (
    <div className={styles.shard}>
      <h3>Shard {shard}</h3>
      <div className={styles.figures}>
        <Figure about={ABOUT.foldLag} value={now.value("plaudit_fold_lag_events", { shard })} format={count("events")} />
        <Figure
          about={ABOUT.persistLag}
          value={now.value("plaudit_persist_lag_events", { shard })}
          format={count("events")}
        />
        <Figure
          about={ABOUT.persistAge}
          label="Oldest unpersisted"
          value={now.value("plaudit_persist_lag_seconds", { shard })}
          format={duration}
          isBad={isPersistLate(now, shard)}
        />
        <Figure
          about={ABOUT.log}
          value={entries}
          format={count("entries")}
          isBad={isLogHalfFull(now, shard)}
          beside={`${words(limit && entries / limit, percent)} of ${words(limit, count(""))}`}
        />
      </div>
      <Chart
        label={`Lag of shard ${shard}`}
        lines={[
          { track: `persist ${shard}`, name: "Persist", colour: "talk" },
          { track: `fold ${shard}`, name: "Fold", colour: "brand" },
        ]}
        format={count("events")}
      />
    </div>
  );
}
