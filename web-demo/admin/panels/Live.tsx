import { Chart } from "../charts/Chart";
import { useReadings } from "../metrics/useMonitor";
import { Card } from "../ui/Card";
import { Figure } from "../ui/Figure";
import { Mark } from "../ui/Mark";
import { count, perSecond, words } from "../ui/format";
import { ABOUT } from "./explained";
import styles from "./panels.module.css";

/** Sockets, subscriptions and deliveries. */
export function Live() {
  const now = useReadings();
  const receiving = now.value("plaudit_hub_hearing");
  const transport = (transport: string) => words(now.value("plaudit_sockets", { transport }), count(""));
  return (
    <Card
      title="Live"
      aside={
        <Mark about={ABOUT.receiving} is={receiving === undefined ? "unknown" : receiving > 0 ? "good" : "bad"}>
          {receiving === 0 ? "Receives no changes" : "Receives changes"}
        </Mark>
      }
    >
      <div className={styles.figures}>
        <Figure
          about={ABOUT.sockets}
          value={now.value("plaudit_sockets")}
          format={count("open")}
          beside={`${transport("websocket")} WebSocket, ${transport("sse")} stream`}
        />
        <Figure about={ABOUT.subscriptions} value={now.value("plaudit_subscriptions")} format={count("running")} />
        <Figure
          about={ABOUT.executions}
          label="Executions"
          value={now.rate("plaudit_fanout_executions_total")}
          format={perSecond("/s")}
        />
        <Figure
          about={ABOUT.deliveries}
          label="Deliveries"
          value={now.rate("plaudit_fanout_deliveries_total")}
          format={perSecond("/s")}
        />
      </div>
      <Chart
        label="Fan-out"
        lines={[
          { track: "deliveries", name: "Deliveries", colour: "talk" },
          { track: "executions", name: "Executions", colour: "brand" },
        ]}
        format={perSecond("/s")}
      />
    </Card>
  );
}
