// Pipeline and API processes of Plaudit.

import { existsSync } from "node:fs";

import { directoryOf, run, until } from "./processes.mjs";

export async function startPlaudit(cluster) {
  if (!existsSync(cluster.program)) {
    throw new Error(`there is no ${cluster.program}: build it with \`make cluster\`, or name it with PLAUDIT_BIN`);
  }
  const { apis, front, pipelines } = cluster.ports;
  // The first one creates tables and demo data.
  await start(cluster, "pipeline-1", pipelines[0], ["--roles", "pipeline", "--seed-if-empty"]);
  await isReady(pipelines[0]);
  const others = pipelines.slice(1);
  await Promise.all(others.map((port, n) => start(cluster, `pipeline-${n + 2}`, port, ["--roles", "pipeline"])));
  await Promise.all(apis.map((port, n) => start(cluster, `api-${n + 1}`, port, apiFlags(cluster))));
  for (const port of [...apis, front]) await isReady(port);
}

function isReady(port) {
  const asked = () => fetch(`http://127.0.0.1:${port}/status`).then(({ ok }) => ok, () => false);
  return until("Plaudit is ready", asked);
}

function apiFlags(cluster) {
  const replica = `postgres://plaudit@127.0.0.1:${cluster.ports.postgres[1]}/plaudit`;
  const pages = ["--demo", "true", "--graphiql", "true", "--dev-token", "true", "--introspection", "true"];
  return ["--roles", "api", "--database-replica-url", replica, "--trusted-proxies", "127.0.0.1/32", ...pages];
}

function start(cluster, name, port, flags) {
  const { database, redis } = cluster.ports;
  const common = [
    ["--listen", `127.0.0.1:${port}`],
    ["--data-dir", directoryOf(cluster, name)],
    ["--redis-url", `redis+cluster://${redis.map((port) => `127.0.0.1:${port}`).join(",")}`],
    ["--database-url", `postgres://plaudit@127.0.0.1:${database}/plaudit`],
    ["--virtual-shards", "12"],
    ["--lease", "2s"], // so that a look at a takeover is short
  ];
  const args = ["serve", ...common.flat(), ...flags, ...cluster.flags];
  return run(cluster, name, cluster.program, args, { port, env: { PLAUDIT_JWT_SECRET: cluster.secret } });
}
