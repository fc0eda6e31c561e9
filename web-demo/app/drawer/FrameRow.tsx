import { ArrowDown, ArrowUp } from "lucide-react";
import { memo } from "react";
import { type FrameEntry } from "../../shared/api/journal";
import { Row } from "./Row";
import styles from "./Row.module.css";

const clock = new Intl.DateTimeFormat("en", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hourCycle: "h23",
});

/** One message of the socket. */
export const FrameRow = memo(function FrameRow({ frame: { direction, at, message, text } }: { frame: FrameEntry }) {
  return (
    <Row
      line={
        <>
          {direction === "sent" ? (
            <ArrowUp size={15} className={styles.sent} aria-label="sent" />
          ) : (
            <ArrowDown size={15} className={styles.received} aria-label="received" />
          )}
          <span className={styles.kind}>{message}</span>
          <span className={styles.text}>{payload(text)}</span>
          <span className={styles.numbers}>{clock.format(at)}</span>
        </>
      }
    >
      {() => (
        <pre tabIndex={0} aria-label="Message">
          {pretty(text)}
        </pre>
      )}
    </Row>
  );
});

/** The payload, because the rest is the same in all messages of a type. */
const payload = (text: string) => text.replace(/^.*?"payload":(.*)}$/s, "$1");

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
