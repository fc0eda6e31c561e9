// PostgreSQL: a primary, postgres-1, and a standby that streams from it, postgres-2.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { directoryOf, output, run, until } from "./processes.mjs";

const TRUST = "--auth=trust";

export async function startPostgres(cluster) {
  const [primary, standby] = cluster.ports.postgres;
  const user = otherUser();
  const dirs = ["postgres-1", "postgres-2"].map((name) => directoryOf(cluster, name, user));
  await isReachable(dirs[0], user);
  await output(program("initdb"), ["-D", dirs[0], "-U", "admin", TRUST, "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"], user);
  await start(cluster, "postgres-1", primary, user);
  const sql = (text) => output(program("psql"), [adminUrl(primary), "-c", text]);
  await sql("CREATE ROLE plaudit LOGIN");
  await sql("CREATE DATABASE plaudit OWNER plaudit");
  await output(program("pg_basebackup"), ["-D", dirs[1], "-d", adminUrl(primary), "-R", "--checkpoint=fast", "--no-sync"], user);
  await start(cluster, "postgres-2", standby, user);
}

export function adminUrl(port) {
  return `postgres://admin@127.0.0.1:${port}/postgres`;
}

/** A killed primary stays dead: the standby may have been promoted, and two primaries would accept different changes. */
async function start(cluster, name, port, user) {
  const settings = [`port=${port}`, "listen_addresses=127.0.0.1", "unix_socket_directories=", "hot_standby_feedback=on"];
  const args = ["-D", directoryOf(cluster, name, user), ...settings.flatMap((setting) => ["-c", setting])];
  const stop = "SIGINT"; // PostgreSQL's fast shutdown
  await run(cluster, name, program("postgres"), args, { port, user, stop, restarts: name !== "postgres-1" });
  const isReady = () => output(program("pg_isready"), ["-q", "-h", "127.0.0.1", "-p", String(port)]).then(() => true, () => false);
  await until(`${name} is ready`, isReady);
}

/** The program of the newest version that Debian has installed, or the one in the path. */
export function program(name) {
  const base = "/usr/lib/postgresql";
  const versions = existsSync(base) ? readdirSync(base).filter((version) => /^\d+$/.test(version)) : [];
  const newest = versions.sort((one, two) => two - one)[0];
  return newest ? join(base, newest, "bin", name) : name;
}

/** PostgreSQL refuses to run as root: then it runs as the user `postgres`. */
function otherUser() {
  if (process.getuid() !== 0) return undefined;
  const line = readFileSync("/etc/passwd", "utf8").split("\n").find((line) => line.startsWith("postgres:"));
  if (!line) throw new Error("PostgreSQL does not run as root, and there is no user postgres: run this as another user");
  const [uid, gid] = line.split(":").slice(2, 4).map(Number);
  return { uid, gid };
}

async function isReachable(dir, user) {
  await output("test", ["-x", dir], user).catch(() => {
    throw new Error(`the user postgres has no access to ${dir}: name another place with CLUSTER_DIR`);
  });
}
