import { type Exchange, mapExchange, stringifyDocument } from "urql";
import { type Journal } from "./journal";

/** Writes every operation that goes to the server, and what became of it, into the journal. */
export function recordExchange(journal: Journal): Exchange {
  /** Entry of each operation that runs, by the operation's key. */
  const running = new Map<number, number>();

  return mapExchange({
    onOperation({ kind, key, query, variables }) {
      if (kind === "teardown") {
        journal.change(running.get(key), (entry) => ({ ...entry, ended: true }));
        running.delete(key);
        return;
      }
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
}
