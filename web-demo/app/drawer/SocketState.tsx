import { useConnection } from "../../shared/api/client";
import { ConnectionMark } from "../layout/ConnectionMark";
import styles from "./SocketState.module.css";

const clock = new Intl.DateTimeFormat("en", { timeStyle: "medium", hourCycle: "h23" });

/** State of the socket and its history. */
export function SocketState() {
  const { openSince, reconnects, lastClose } = useConnection();
  return (
    <div className={styles.socket}>
      <ConnectionMark />
      <dl>
        <div>
          <dt>since</dt>
          <dd>{openSince ? clock.format(openSince) : "–"}</dd>
        </div>
        <div>
          <dt>reconnects</dt>
          <dd>{reconnects}</dd>
        </div>
        <div>
          <dt>last close</dt>
          <dd>{lastClose ?? "none"}</dd>
        </div>
      </dl>
    </div>
  );
}
