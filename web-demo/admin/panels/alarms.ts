import { type MonitorState } from "../metrics/monitor";
import { type Readings } from "../metrics/readings";
import { count, duration, words } from "../ui/format";

/** Persist lag in seconds that raises an alarm. */
const PERSIST_LATE_SECONDS = 60;
const LOG_SHARE = 0.5;

export const isPersistLate = (now: Readings, shard: string) =>
  (now.value("plaudit_persist_lag_seconds", { shard }) ?? 0) >= PERSIST_LATE_SECONDS;

export const isLogHalfFull = (now: Readings, shard: string) =>
  now.value("plaudit_log_entries", { shard })! > LOG_SHARE * (now.value("plaudit_log_limit_entries", { shard }) ?? Infinity);

/** Dead events that were neither retried nor dropped. */
export const deadEvents = (now: Readings) => now.value("plaudit_dead_events");

/** The alarms as sentences. */
export function alarms({ readings: now, dependencies = [] }: MonitorState): string[] {
  if (!now) return [];
  const messages: string[] = [];
  for (const { name, ok, reason } of dependencies) if (!ok) messages.push(`${name}: ${reason}.`);
  for (const dependency of now.values("plaudit_breaker_open", "dependency")) {
    if (now.value("plaudit_breaker_open", { dependency })) messages.push(`${dependency} does not answer; requests that need it are refused.`);
  }
  if (now.value("plaudit_hub_hearing") === 0) messages.push("This process receives no changes: its subscriptions get no events.");
  for (const shard of now.values("plaudit_log_entries", "shard")) {
    if (isLogHalfFull(now, shard)) messages.push(`The log of shard ${shard} is more than half full.`);
    if (isPersistLate(now, shard)) {
      const age = words(now.value("plaudit_persist_lag_seconds", { shard }), duration);
      messages.push(`Shard ${shard} has events that wait for PostgreSQL for ${age}.`);
    }
  }
  const lost = now.value("plaudit_lost_events_total");
  if (lost) messages.push(`Redis lost ${words(lost, count("events"))} before they were persisted: see the log.`);
  const dead = deadEvents(now);
  if (dead) messages.push(`${words(dead, count("events"))} are dead: plaudit dead list.`);
  const drift = now.value("plaudit_reconcile_drift_total") ?? 0;
  const repaired = now.value("plaudit_reconcile_repaired_total") ?? 0;
  if (drift > repaired) messages.push(`${words(drift - repaired, count("numbers"))} drifted and were not repaired: plaudit reconcile.`);
  return messages;
}
