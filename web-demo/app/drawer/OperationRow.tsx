import { SquareTerminal } from "lucide-react";
import { memo } from "react";
import { type OperationEntry } from "../../shared/api/journal";
import { CopyMenu } from "./CopyMenu";
import { Row } from "./Row";
import styles from "./Row.module.css";
import { graphiqlLink } from "./snippets";

/** A query, mutation or subscription with its result. */
export const OperationRow = memo(function OperationRow({ operation }: { operation: OperationEntry }) {
  const { kind, name, query, variables, error } = operation;
  return (
    <Row
      line={
        <>
          <span className={`${styles.kind} ${styles[kind]}`}>{kind}</span>
          <span className={styles.name}>{name}</span>
          <Outcome operation={operation} />
        </>
      }
    >
      {() => (
        <>
          {error && <p className={styles.error}>{error}</p>}
          <div className={styles.ways}>
            <a href={graphiqlLink(operation)} target="_blank" rel="noreferrer">
              <SquareTerminal size={16} aria-hidden="true" />
              Open in GraphiQL
            </a>
            <CopyMenu operation={operation} />
          </div>
          <pre tabIndex={0} aria-label="Document">
            {query.trim()}
          </pre>
          <pre tabIndex={0} aria-label="Variables">
            {JSON.stringify(variables, null, 2)}
          </pre>
        </>
      )}
    </Row>
  );
});

function Outcome({ operation: { kind, tookMs, events, error, ended } }: { operation: OperationEntry }) {
  const took = tookMs === undefined ? (ended ? "cancelled" : "…") : `${tookMs} ms`;
  const live = kind === "subscription" && `${events}${ended ? " events, ended" : " events"}`;
  return (
    <span className={error ? styles.failed : styles.numbers}>{error ? "failed" : live || took}</span>
  );
}
