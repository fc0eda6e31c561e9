import { type Exchange, type Operation, mapExchange, stringifyDocument } from "urql";
import { pipe, tap } from "wonka";
import { type Journal } from "./journal";

/** Records every operation and its result in the journal. */
export function recordExchange(journal: Journal): Exchange {
  /** Journal entry of each running operation, by the operation's key. */
  const running = new Map<number, number>();

  const recordOperations = mapExchange({
    onOperation({ kind, key, query, variables }) {
      if (kind === "teardown") return;
      const text = stringifyDocument(query).replace(/^# .*\n/, "");
      const id = journal.nextId();
      running.set(key, id);
      journal.add({
        type: "operation",
        id,
        kind,
        name: /^\w+ (\w+)/.exec(text)?.[1] ?? kind,
        query: text,
        variables: variables ?? {},
        startedAt: Date.now(),
        events: 0,
        ended: false,
      });
    },
    onResult({ operation, error, hasNext }) {
      journal.change(running.get(operation.key), (entry) => ({
        ...entry,
        tookMs: entry.tookMs ?? Date.now() - entry.startedAt,
        events: entry.events + 1,
        error: error?.message,
        ended: !hasNext,
      }));
      if (!hasNext) running.delete(operation.key);
    },
  });

  /** Records that the page cancelled an operation, which `mapExchange` does not report. */
  const recordCancellations = tap(({ kind, key }: Operation) => {
    if (kind !== "teardown") return;
    journal.change(running.get(key), (entry) => ({ ...entry, ended: true }));
    running.delete(key);
  });

  return (input) => {
    const next = recordOperations(input);
    return (operations) => next(pipe(operations, recordCancellations));
  };
}
