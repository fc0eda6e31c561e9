// Calculations of the admin page: parsing, rates and quantiles. Run by `npm test`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const load = async (name) =>
  (await runnerImport(fileURLToPath(new URL(name, import.meta.url)), { configFile: false, logLevel: "error" })).module;
const { ExpositionReader } = await load("exposition.ts");
const { quantile } = await load("histogram.ts");
const { Readings } = await load("readings.ts");
const { rulesOf } = await load("rules.ts");
const { alarms, ONLY_PROMETHEUS } = await load("../panels/alarms.ts");

/** The series in the text, as `[name, labels, value]`. */
const read = (text) =>
  [...new ExpositionReader().read(text)].map(([{ name, labels }, value]) => [name, labels, value]);

/** Readings of these texts, one second apart. */
function readings(...texts) {
  const reader = new ExpositionReader();
  return texts.reduce((all, text, i) => all.with({ at: i * 1000, values: reader.read(text) }), new Readings([]));
}

test("the reader accepts series with and without labels and timestamps", () => {
  const text = `# HELP a Some a.
# TYPE a counter
a 1
b{} 2.5e3 1395066363000
  c { x = "1" , y="two", }\t-4

d{le="+Inf"} +Inf
e -Inf
`;
  assert.deepEqual(read(text), [
    ["a", {}, 1],
    ["b", {}, 2500],
    ["c", { x: "1", y: "two" }, -4],
    ["d", { le: "+Inf" }, Infinity],
    ["e", {}, -Infinity],
  ]);
  assert.ok(Number.isNaN(read("f NaN")[0][2]));
});

test("a label's value may contain quotes, backslashes, line breaks, braces and commas", () => {
  const text = String.raw`a{path="C:\\dir\\new",said="\"no\"\nthen",odd="}, x=\"1\" {#"} 7`;
  assert.deepEqual(read(text), [["a", { path: "C:\\dir\\new", said: '"no"\nthen', odd: '}, x="1" {#' }, 7]]);
});

test("a malformed line does not hide other lines", () => {
  assert.deepEqual(read('a{x="1} 3\nb{x=1} 3\nc three\nd\n{x="1"} 3\n0e 1\ne 4'), [["e", {}, 4]]);
});

test("a series is the same object at every reading", () => {
  const reader = new ExpositionReader();
  const [first] = reader.read('a{x="1"} 1').keys();
  const [second] = reader.read('a{x="1"} 2').keys();
  assert.equal(second, first);
});

test("a quantile lies between the bounds of its bucket", () => {
  const buckets = [
    { le: Infinity, count: 100 },
    { le: 0.001, count: 50 },
    { le: 0.01, count: 90 },
  ];
  assert.equal(quantile(0.25, buckets), 0.0005);
  assert.equal(quantile(0.5, buckets), 0.001);
  assert.ok(Math.abs(quantile(0.7, buckets) - 0.0055) < 1e-9);
  assert.equal(quantile(0.99, buckets), 0.01, "above all finite bounds");
  assert.equal(quantile(0.5, []), undefined);
  assert.equal(quantile(0.5, [{ le: Infinity, count: 0 }]), undefined);
});

test("a rate is a counter's rise per second, and a series that appears later started at 0", () => {
  const all = readings('n_total{k="a"} 10', 'n_total{k="a"} 10', 'n_total{k="a"} 16\nn_total{k="b"} 4');
  assert.equal(all.rate("n_total"), 5);
  assert.equal(all.rate("n_total", { k: "a" }), 3);
  assert.equal(all.rate("n_total", { k: "none" }), undefined);
  assert.equal(readings("n_total 10").rate("n_total"), undefined, "one reading gives no rate");
  assert.equal(all.value("n_total"), 20);
  assert.equal(all.value("other"), undefined);
});

test("a late reading causes no peak", () => {
  const reader = new ExpositionReader();
  const at = [0, 1000, 9000, 9005];
  const all = at.reduce((all, at, i) => all.with({ at, values: reader.read(`n_total ${at / 100}`) }), new Readings([]));
  assert.ok(Math.abs(all.rate("n_total") - 10) < 0.1);
});

test("quantiles cover recent samples only", () => {
  const before = 't_bucket{le="1"} 1000\nt_bucket{le="2"} 1000\nt_bucket{le="+Inf"} 1000';
  const now = 't_bucket{le="1"} 1000\nt_bucket{le="2"} 1010\nt_bucket{le="+Inf"} 1010';
  assert.equal(readings(before, now).quantile(0.5, "t"), 1.5);
  assert.equal(readings(now, now).quantile(0.5, "t"), undefined, "nothing was counted");
});

test("labels are listed once, and shards in numeric order", () => {
  const all = readings('g{shard="10"} 1\ng{shard="2"} 1\ng{shard="2",x="y"} 1');
  assert.deepEqual(all.values("g", "shard"), ["2", "10"]);
});

test("a counter that falls means a restart", () => {
  const reader = new ExpositionReader();
  const next = (text) => ({ at: 1000, values: reader.read(text) });
  const all = new Readings([{ at: 0, values: reader.read("n_total 10\ng 5") }]);
  assert.equal(all.hasRestarted(next("n_total 10\ng 1")), false);
  assert.equal(all.hasRestarted(next("n_total 3\ng 5")), true);
  assert.equal(all.hasRestarted({ at: 1000, values: new Map() }), false);
});

test("a rise is that of the period, or since the process started", () => {
  const reader = new ExpositionReader();
  const text = (n) => `n_total{k="a"} ${n}`;
  let all = new Readings([]).with({ at: 0, values: reader.read(text(3)) });
  const rise = () => all.rises("n_total", 15 * 60)[0].value;
  assert.equal(rise(), 3, "what was before the first reading");
  for (let second = 1; second <= 3600; second++) all = all.with({ at: second * 1000, values: reader.read(text(3)) });
  assert.equal(rise(), 0);
  all = all.with({ at: 3601_000, values: reader.read(text(5)) });
  assert.equal(rise(), 2);
});

const yaml = readFileSync(new URL("../../../ops/alerts.yaml", import.meta.url), "utf8");

/** Metrics of a process for which nothing is wrong, and for each alert what makes it fire there. */
const QUIET = `
plaudit_breaker_open{dependency="Redis"} 0
plaudit_log_entries{shard="1"} 10
plaudit_log_limit_entries{shard="1"} 100
plaudit_persist_lag_seconds{shard="1"} 59
plaudit_fold_lag_events{shard="1"} 10000
plaudit_hub_hearing 1
plaudit_dead_events 0
plaudit_refusals_total{class="limit"} 7
plaudit_persist_mismatches_total{cause="excluded"} 7
plaudit_replica_waits_total{outcome="confirmed"} 7
plaudit_webhook_lag_seconds 300
plaudit_webhook_attempts_total{outcome="failed"} 7
process_open_fds 80
process_max_fds 100
`;
const FIRES = {
  PlauditLostEvents: 'plaudit_lost_events_total{shard="1"} 3',
  PlauditStoreAway: 'plaudit_breaker_open{dependency="Redis"} 1',
  PlauditReplicasMissing: 'plaudit_replica_waits_total{outcome="missing"} 1',
  PlauditLogFills: 'plaudit_log_entries{shard="1"} 51',
  PlauditPersistLag: 'plaudit_persist_lag_seconds{shard="1"} 60.5',
  PlauditFoldLag: 'plaudit_fold_lag_events{shard="1"} 10001',
  PlauditHearsNothing: "plaudit_hub_hearing 0",
  PlauditFaults: 'plaudit_refusals_total{class="fault"} 1',
  PlauditDeadEvents: "plaudit_dead_events 2",
  PlauditDrift: 'plaudit_reconcile_drift_total{counter="likes",entity="note",what="total"} 1',
  PlauditMismatch: 'plaudit_persist_mismatches_total{cause="unexplained"} 1',
  PlauditShardStopped: 'plaudit_persist_mismatches_total{cause="broken"} 1',
  PlauditWebhookLate: "plaudit_webhook_lag_seconds 1480",
  PlauditFilesRunOut: "process_open_fds 81",
};
const raised = (text) => alarms({ readings: readings(text), dependencies: [] });

test("every alert for operators is an alarm of the page, or is left to Prometheus", () => {
  const rules = rulesOf(yaml);
  assert.equal(rules.length, yaml.match(/- alert:/g).length);
  const expected = rules.filter(({ severity }) => severity !== "info").map(({ alert }) => alert);
  assert.deepEqual([...Object.keys(FIRES), ...ONLY_PROMETHEUS].sort(), expected.sort());
  assert.deepEqual(raised(QUIET), []);
});

for (const [alert, line] of Object.entries(FIRES)) {
  test(`the page raises ${alert}`, () => {
    const messages = raised(`${QUIET}${line}\n`);
    assert.equal(messages.length, 1, messages);
    assert.ok(messages[0].includes(`${alert}, see docs/`) && !/\{\{|undefined/.test(messages[0]), messages[0]);
  });
}

test("batches that the webhook gives up are an alarm, and why it fails is told", () => {
  const given = 'plaudit_webhook_attempts_total{outcome="dead"} 1';
  assert.match(raised(`${QUIET}${given}`)[0], /^The webhook is not delivered: PlauditWebhookLate/);
  const failed = String.raw`plaudit_webhook_error{reason="it answers 401: \"no such customer\""} 1764345600`;
  assert.match(raised(`${QUIET}${failed}`)[0], /^The webhook failed at .*: it answers 401: "no such customer"\.$/);
});
