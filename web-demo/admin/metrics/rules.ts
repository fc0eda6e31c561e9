import { type Labels, type Readings } from "./readings";

/** A rule of `ops/alerts.yaml`. */
export interface Rule {
  alert: string;
  expr: string;
  severity: string;
  summary: string;
  runbook: string;
}

const RULE =
  /- alert: (\w+)\s+expr: (.+)\n(?:\s+for: .+\n)?\s+labels: \{ severity: (\w+) \}\s+annotations:\s+summary: "(.*)"\s+runbook: (\S+)/g;

export function rulesOf(yaml: string): Rule[] {
  return [...yaml.matchAll(RULE)].map(([, alert, expr, severity, summary, runbook]) => ({
    alert: alert!,
    expr: expr!,
    severity: severity!,
    summary: summary!,
    runbook: runbook!,
  }));
}

/** What an alert is about, and the value of its condition. */
export interface Firing {
  labels: Labels;
  value: number;
}

type Condition = (now: Readings) => Firing[];

const NAME = String.raw`\w+(?:\{[^}]*\})?`;
const GAUGE = new RegExp(`^(${NAME})(?: / (${NAME}))? (>|==) ([\\d.]+)$`);
const INCREASE = new RegExp(`^increase (${NAME})\\[(\\d+)m\\] > ([\\d.]+)$`);
/** A counter that is new: to a page, counters begin at 0, so that is an increase. */
const NEW = / unless \w+ offset /;
const MATCHER = /(\w+)(=~|!=|=)"([^"]*)"/g;

/**
 * Evaluates the condition of a rule for one process: comparisons of gauges, of quotients of gauges and of increases.
 * `undefined` for an expression of another form.
 */
export function conditionOf(expr: string): Condition | undefined {
  // Any series above a bound means that the greatest is.
  const plain = expr.replaceAll("increase(", "increase ").replace(/max(?: by \(\w+\))? ?\(|[()]/g, "");
  const conditions = plain
    .split(" or ")
    .filter((part) => !NEW.test(part))
    .map(comparison);
  if (conditions.includes(undefined)) return undefined;
  return (now) => conditions.flatMap((condition) => condition!(now));
}

function comparison(part: string): Condition | undefined {
  const [, counter, minutes, most] = INCREASE.exec(part) ?? [];
  if (counter) {
    return (now) => matching(now.rises(nameOf(counter), Number(minutes) * 60), counter).filter(({ value }) => value > Number(most));
  }
  const [, gauge, divisor, sign, bound] = GAUGE.exec(part) ?? [];
  if (!gauge) return undefined;
  return (now) =>
    matching(now.each(nameOf(gauge)), gauge)
      .map(({ labels, value }) => ({ labels, value: divisor ? value / (now.value(nameOf(divisor), labels) ?? NaN) : value }))
      .filter(({ value }) => (sign === ">" ? value > Number(bound) : value === Number(bound)));
}

const nameOf = (selector: string) => selector.replace(/\{.*/, "");

/** Prometheus adds `job` and `instance`; a process does not have them. */
function matching(series: Firing[], selector: string): Firing[] {
  const matchers = [...selector.matchAll(MATCHER)].filter(([, label]) => label !== "job");
  return series.filter(({ labels }) =>
    matchers.every(([, label, sign, text]) => {
      const value = labels[label!] ?? "";
      if (sign === "=~") return new RegExp(`^(?:${text})$`).test(value);
      return (value === text) === (sign === "=");
    }),
  );
}
