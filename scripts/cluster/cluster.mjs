// The cluster, with as many processes as wanted.

import { randomBytes } from "node:crypto";
import { mkdirSync, realpathSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";

import { startHaproxy } from "./haproxy.mjs";
import { startPlaudit } from "./plaudit.mjs";
import { startPostgres } from "./postgres.mjs";
import { checkPorts } from "./processes.mjs";
import { startRedis } from "./redis.mjs";

const root = resolve(import.meta.dirname, "../..");

/** Starts all of it and returns what its parts know of each other. */
export async function startCluster({ masters = 3, apis = 2, pipelines = 2, flags = [] } = {}) {
  const dir = resolve(process.env.CLUSTER_DIR ?? join(root, "target/cluster"));
  const ports = portsFrom(Number(process.env.CLUSTER_PORT ?? 7100), { masters, apis, pipelines });
  await checkPorts(Object.values(ports).flat());
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const cluster = {
    dir: realpathSync(dir),
    flags,
    ports,
    program: process.env.PLAUDIT_BIN ?? join(root, "target/quick/plaudit"),
    secret: randomBytes(32).toString("hex"),
  };
  await Promise.all([startRedis(cluster), startPostgres(cluster)]);
  await startHaproxy(cluster);
  await startPlaudit(cluster);
  return cluster;
}

function portsFrom(first, { masters, apis, pipelines }) {
  let next = first;
  const take = (count) => Array.from({ length: count }, () => next++);
  return {
    front: next++,
    database: next++, // leads to the primary
    apis: take(apis),
    pipelines: take(pipelines),
    postgres: take(2),
    redis: take(2 * masters), // the first half are masters
    redisBus: take(2 * masters),
  };
}
