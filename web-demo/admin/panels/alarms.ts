import { type Monitored } from "../metrics/monitor";
import { type Readings } from "../metrics/readings";
import { count, duration, words } from "../ui/format";

/** Persist lag in seconds from which an alarm shows. */
const PERSIST_LATE_SECONDS = 60;
const LOG_SHARE = 0.5;

export const isPersistLate = (now: Readings, shard: string) =>
  (now.value("plaudit_persist_lag_seconds", { shard }) ?? 0) >= PERSIST_LATE_SECONDS;

export const isLogHalfFull = (now: Readings, shard: string) =>
  now.value("plaudit_log_entries", { shard })! > LOG_SHARE * (now.value("plaudit_log_limit_entries", { shard }) ?? Infinity);

/** Undecided ones. */
export const deadEvents = (now: Readings) => now.value("plaudit_dead_events");

/** The alarms, in sentences; nothing else on the page is red. */
export function alarms({ readings: now, dependencies = [] }: Monitored): string[] {
  if (!now) return [];
  const found: string[] = [];
  for (const { name, ok, reason } of dependencies) if (!ok) found.push(`${name}: ${reason}.`);
  for (const dependency of now.values("plaudit_breaker_open", "dependency")) {
    if (now.value("plaudit_breaker_open", { dependency })) found.push(`${dependency} does not answer; requests leave it alone.`);
  }
  if (now.value("plaudit_hub_hearing") === 0) found.push("Changes are not heard: subscriptions stand still.");
  for (const shard of now.values("plaudit_log_entries", "shard")) {
    if (isLogHalfFull(now, shard)) found.push(`The log of shard ${shard} is more than half full.`);
    if (isPersistLate(now, shard)) {
      const age = words(now.value("plaudit_persist_lag_seconds", { shard }), duration);
      found.push(`Shard ${shard} has events that wait for PostgreSQL for ${age}.`);
    }
  }
  const lost = now.value("plaudit_lost_events_total");
  if (lost) found.push(`Redis lost ${words(lost, count("events"))} before they were persisted: see the log.`);
  const dead = deadEvents(now);
  if (dead) found.push(`${words(dead, count("events"))} are dead: plaudit dead list.`);
  const drift = now.value("plaudit_reconcile_drift_total") ?? 0;
  const repaired = now.value("plaudit_reconcile_repaired_total") ?? 0;
  if (drift > repaired) found.push(`${words(drift - repaired, count("numbers"))} drifted and were not repaired: plaudit reconcile.`);
  return found;
}
