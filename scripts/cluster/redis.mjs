// A Redis Cluster of masters with a replica each.

import { output, run, until } from "./processes.mjs";

const SETTINGS = [
  ["bind", "127.0.0.1"],
  ["appendonly", "yes"],
  ["save", ""],
  ["maxmemory", "256mb"],
  ["set-max-intset-entries", "8192"],
  ["cluster-enabled", "yes"],
  ["cluster-config-file", "nodes.conf"],
  ["cluster-node-timeout", "1000"], // milliseconds; a replica is promoted some 2 s after the death of its master
  ["cluster-require-full-coverage", "no"],
  ["cluster-replica-validity-factor", "0"],
  ["repl-diskless-sync-delay", "0"],
  ["repl-ping-replica-period", "1"],
];

const SLOTS = 16_384;

export async function startRedis({ ports: { redis, redisBus }, ...cluster }) {
  await Promise.all(redis.map((port, n) => run(cluster, `redis-${n + 1}`, "redis-server", flags(port, redisBus[n]), { port })));
  const masters = redis.slice(0, redis.length / 2);
  const first = (n) => Math.floor((SLOTS * n) / masters.length);
  for (const [n, port] of masters.entries()) {
    await ask(port, "cluster", "addslotsrange", first(n), first(n + 1) - 1);
    await ask(port, "cluster", "set-config-epoch", n + 1);
  }
  for (const [n, port] of redis.entries()) await ask(redis[0], "cluster", "meet", "127.0.0.1", port, redisBus[n]);
  for (const port of redis) await until("the nodes of Redis know each other", () => knows(port, redis.length));
  for (const [n, port] of redis.slice(masters.length).entries()) {
    await ask(port, "cluster", "replicate", (await ask(masters[n], "cluster", "myid")).trim());
  }
  for (const port of redis) await until("the cluster is whole", () => isWhole(port));
}

function flags(port, bus) {
  const settings = [...SETTINGS, ["port", port], ["cluster-port", bus]];
  return settings.flatMap(([name, value]) => [`--${name}`, String(value)]);
}

/** The answer of a node. */
export function ask(port, ...words) {
  return output("redis-cli", ["-e", "-p", String(port), ...words.map(String)]);
}

/** Whether the node knows so many nodes by their ids: one that it has only met has another id until it has answered. */
async function knows(port, count) {
  const nodes = (await ask(port, "cluster", "nodes")).trim().split("\n");
  return nodes.length === count && !nodes.some((node) => node.includes("handshake"));
}

/** Whether the node knows an owner of each slot, and follows its master if it is a replica. */
async function isWhole(port) {
  const [state, replication] = await Promise.all([ask(port, "cluster", "info"), ask(port, "info", "replication")]);
  return state.includes("cluster_state:ok") && /role:master|master_link_status:up/.test(replication);
}
