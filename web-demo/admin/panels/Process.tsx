import { Chart } from "../charts/Chart";
import { cores } from "../metrics/tracks";
import { useReadings } from "../metrics/useMonitor";
import { Card } from "../ui/Card";
import { Figure } from "../ui/Figure";
import { bytes, count, perSecond, words } from "../ui/format";
import { ABOUT } from "./explained";
import styles from "./panels.module.css";

/** CPU, memory and files of the process. */
export function Process() {
  const now = useReadings();
  return (
    <Card title="Process">
      <div className={styles.figures}>
        <Figure about={ABOUT.cpu} value={cores(now)} format={perSecond("cores")} />
        <Figure about={ABOUT.memory} value={now.value("process_resident_memory_bytes")} format={bytes} />
        <Figure
          about={ABOUT.files}
          value={now.value("process_open_fds")}
          format={count("open")}
          beside={`of ${words(now.value("process_max_fds"), count(""))}`}
        />
      </div>
      <Chart label="CPU" lines={[{ track: "cpu", name: "CPU", colour: "brand" }]} format={perSecond("cores")} />
    </Card>
  );
}
