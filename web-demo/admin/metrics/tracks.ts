import { LONG_SECONDS, type Readings } from "./readings";

/** Numbers of one moment, by the name of their track. A missing number is not drawn. */
export interface Moment {
  /** Milliseconds since 1970. */
  at: number;
  numbers: Readonly<Record<string, number>>;
}

/** The tracks of all charts. */
export function moment(now: Readings): Moment {
  const numbers: Record<string, number | undefined> = {
    requests: now.rate("plaudit_requests_total"),
    errors: errorsPerSecond(now),
    requestP95: now.quantile(0.95, "plaudit_request_seconds"),
    likes: likesPerSecond(now),
    actions: now.rate("plaudit_actions_total"),
    redisOfRequests: now.quantile(0.95, "plaudit_redis_seconds", { caller: "request" }),
    redisOfPipeline: now.quantile(0.95, "plaudit_redis_seconds", { caller: "pipeline" }),
    databaseOfRequests: now.quantile(0.95, "plaudit_database_seconds", { caller: "request" }),
    databaseOfPipeline: now.quantile(0.95, "plaudit_database_seconds", { caller: "pipeline" }),
    sockets: now.value("plaudit_sockets"),
    subscriptions: now.value("plaudit_subscriptions"),
    executions: now.rate("plaudit_fanout_executions_total"),
    deliveries: now.rate("plaudit_fanout_deliveries_total"),
    cpu: cores(now),
    memory: now.value("process_resident_memory_bytes"),
  };
  for (const shard of now.values("plaudit_log_entries", "shard")) {
    numbers[`fold ${shard}`] = now.value("plaudit_fold_lag_events", { shard });
    numbers[`persist ${shard}`] = now.value("plaudit_persist_lag_events", { shard });
  }
  const finite = Object.entries(numbers).filter((entry): entry is [string, number] => Number.isFinite(entry[1]));
  return { at: now.at, numbers: Object.fromEntries(finite) };
}

/** CPU usage of the process, in cores. */
export const cores = (now: Readings) => now.rate("process_cpu_seconds_total", {}, LONG_SECONDS);

/** New likes of notes and comments. */
export function likesPerSecond(now: Readings): number | undefined {
  const notes = now.rate("plaudit_actions_total", { kind: "like_note", change: "on" });
  const comments = now.rate("plaudit_actions_total", { kind: "like_comment", change: "on" });
  return notes === undefined ? comments : notes + (comments ?? 0);
}

/** Responses with an outcome other than `OK`. */
export function errorsPerSecond(now: Readings, labels: Record<string, string> = {}): number | undefined {
  const all = now.rate("plaudit_requests_total", labels);
  return all === undefined ? undefined : all - (now.rate("plaudit_requests_total", { ...labels, outcome: "OK" }) ?? 0);
}
