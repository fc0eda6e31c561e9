import { Chart } from "../charts/Chart";
import { errorsPerSecond, likesPerSecond } from "../metrics/tracks";
import { useReadings } from "../metrics/useMonitor";
import { Card } from "../ui/Card";
import { Figure } from "../ui/Figure";
import { count, duration, perSecond } from "../ui/format";
import { ABOUT } from "./explained";
import styles from "./panels.module.css";

/** The most important numbers. */
export function Overview() {
  const now = useReadings();
  return (
    <Card title="Now" span={3}>
      <div className={styles.overview}>
        <Figure about={ABOUT.likes} value={likesPerSecond(now)} format={perSecond("likes/s")} size="huge">
          <Chart
            label="Likes and all actions"
            lines={[
              { track: "actions", name: "All actions", colour: "talk" },
              { track: "likes", name: "Likes", colour: "like" },
            ]}
            format={perSecond("/s")}
          />
        </Figure>
        <Figure
          about={ABOUT.requests}
          label="Requests"
          value={now.rate("plaudit_requests_total")}
          format={perSecond("requests/s")}
          size="large"
        >
          <Chart
            label="Requests"
            lines={[{ track: "requests", name: "Requests", colour: "brand" }]}
            format={perSecond("/s")}
          />
        </Figure>
        <Figure
          about={ABOUT.errors}
          label="Errors"
          value={errorsPerSecond(now)}
          format={perSecond("errors/s")}
          size="large"
        >
          <Chart
            label="Errors"
            lines={[{ track: "errors", name: "Errors", colour: "collect" }]}
            format={perSecond("/s")}
          />
        </Figure>
        <Figure
          about={ABOUT.p95}
          label="Response time, p95"
          value={now.quantile(0.95, "plaudit_request_seconds")}
          format={duration}
          size="large"
        >
          <Chart
            label="Time to answer"
            lines={[{ track: "requestP95", name: "p95", colour: "brand" }]}
            format={duration}
          />
        </Figure>
        <Figure about={ABOUT.sockets} value={now.value("plaudit_sockets")} format={count("open")} size="large">
          <Chart label="Sockets" lines={[{ track: "sockets", name: "Sockets", colour: "good" }]} format={count("")} />
        </Figure>
      </div>
    </Card>
  );
}
