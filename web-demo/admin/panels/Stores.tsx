import { Chart } from "../charts/Chart";
import { useReadings } from "../metrics/useMonitor";
import { Card } from "../ui/Card";
import { Figure } from "../ui/Figure";
import { duration, perSecond } from "../ui/format";
import { Mark } from "../ui/Mark";
import { ABOUT } from "./explained";
import styles from "./panels.module.css";

const STORES = [
  { name: "Redis", metric: "plaudit_redis_seconds", track: "redis", about: ABOUT.redis },
  { name: "PostgreSQL", metric: "plaudit_database_seconds", track: "database", about: ABOUT.database },
] as const;

/** How fast Redis and PostgreSQL answer this process. */
export function Stores() {
  return STORES.map((store) => <Store key={store.name} {...store} />);
}

function Store({ name, metric, track, about }: (typeof STORES)[number]) {
  const now = useReadings();
  const breaker = now.value("plaudit_breaker_open", { dependency: name });
  return (
    <Card
      title={name}
      aside={
        <Mark about={ABOUT.breaker} is={breaker === undefined ? "unknown" : breaker > 0 ? "bad" : "good"}>
          {breaker ? "Breaker open" : "Breaker closed"}
        </Mark>
      }
    >
      <div className={styles.figures}>
        {[0.5, 0.95, 0.99].map((q) => (
          <Figure key={q} about={about} label={`p${q * 100}`} value={now.quantile(q, metric, { caller: "request" })} format={duration} />
        ))}
        <Figure
          about={ABOUT.storeErrors}
          label="Failed calls"
          value={now.rate("plaudit_store_errors_total", { dependency: name })}
          format={perSecond("/s")}
        />
      </div>
      <Chart
        label={`${name}, p95`}
        lines={[
          { track: `${track}OfPipeline`, name: "Pipeline", colour: "talk" },
          { track: `${track}OfRequests`, name: "Requests", colour: "brand" },
        ]}
        format={duration}
      />
    </Card>
  );
}
