import yaml from "../../../ops/alerts.yaml?raw";
import { type MonitorState } from "../metrics/monitor";
import { type Readings } from "../metrics/readings";
import { type Firing, conditionOf, rulesOf } from "../metrics/rules";
import { time } from "../ui/format";

/** Alerts that the page leaves to Prometheus: one needs to know all processes, the other rates of some minutes. */
export const ONLY_PROMETHEUS = ["PlauditDown", "PlauditSlow"];

const ALERTS = rulesOf(yaml)
  .filter(({ alert, severity }) => severity !== "info" && !ONLY_PROMETHEUS.includes(alert))
  .map((rule) => ({ ...rule, condition: conditionOf(rule.expr) }));

/** For what an alert of `ops/alerts.yaml` fires in this process, without waiting for its `for`. */
const firing = (alert: string, now: Readings): Firing[] => ALERTS.find((rule) => rule.alert === alert)?.condition?.(now) ?? [];

export const isPersistLate = (now: Readings, shard: string) =>
  firing("PlauditPersistLag", now).some(({ labels }) => labels.shard === shard);

export const isLogHalfFull = (now: Readings, shard: string) =>
  firing("PlauditLogFills", now).some(({ labels }) => labels.shard === shard);

/** Dead events that were neither retried nor dropped. */
export const deadEvents = (now: Readings) => now.value("plaudit_dead_events");

/** The alarms as sentences: what is not ready, the alerts of `ops/alerts.yaml`, and why the webhook fails. */
export function alarms({ readings: now, dependencies = [] }: MonitorState): string[] {
  if (!now) return [];
  const messages: string[] = [];
  for (const { name, ok, reason } of dependencies) if (!ok) messages.push(`${name}: ${reason}.`);
  for (const { alert, summary, runbook } of ALERTS) {
    for (const one of firing(alert, now)) messages.push(`${filled(summary, one)}: ${alert}, see ${runbook}.`);
  }
  for (const { labels, value } of now.each("plaudit_webhook_error")) {
    messages.push(`The webhook failed at ${time(value * 1000)}: ${labels.reason}.`);
  }
  return [...new Set(messages)];
}

/** The page shows one process, and calls it that. */
const filled = (summary: string, { labels, value }: Firing) =>
  summary
    .replaceAll("process {{ $labels.instance }}", "process that answers")
    .replace(/\{\{ \$labels\.(\w+) \}\}/g, (_, label) => labels[label] ?? "")
    .replaceAll("{{ $value }}", String(value));
