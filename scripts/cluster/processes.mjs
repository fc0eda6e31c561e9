// Processes that end with this one. Each has a directory with its files, a log NAME.log and its id in NAME.pid.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, openSync, closeSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

/** Pause before a killed process is started again. */
const RESTART_MS = 10_000;
const START_MS = 240_000;
const STOP_MS = 60_000;

/** All that were started, in this order. */
const started = [];
let isStopping = false;

/** Thrown by what waits while all is being stopped. */
export class Stopped extends Error {}

/**
 * Starts a process and waits until it accepts connections on `port`. If it is killed, it is started again, unless
 * `restarts` says otherwise. `user` is { uid, gid }; `stop` is the signal that ends it in order.
 */
export async function run(cluster, name, program, args, { port, env, user, stop = "SIGTERM", restarts = true }) {
  const process = { name, log: join(cluster.dir, `${name}.log`), stop, port };
  const directory = directoryOf(cluster, name, user);
  process.start = () => {
    const log = openSync(process.log, "a");
    const identity = user ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"] : [];
    // Not in this process's group, so that Ctrl-C does not reach it; the kernel kills it if this process is killed.
    const child = spawn("setpriv", [...identity, "--pdeathsig", "KILL", program, ...args], {
      cwd: directory,
      detached: true,
      env: { ...withoutSettings(), ...env },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    process.child = child;
    process.ended = once(child, "exit").catch(() => {});
    if (child.pid) writeFileSync(join(cluster.dir, `${name}.pid`), `${child.pid}\n`);
    child.once("exit", () => void endedUnasked(process, restarts));
  };
  if (isStopping) throw new Stopped();
  started.push(process);
  process.start();
  await accepts(process);
  return process;
}

async function endedUnasked(process, restarts) {
  if (isStopping || !process.isUp) return;
  console.log(`${process.name} has ended${restarts ? `, and starts again in ${RESTART_MS / 1000} s` : ""}`);
  if (!restarts) return;
  await sleep(RESTART_MS);
  if (!isStopping) process.start();
}

/** Waits until the process accepts connections. */
async function accepts(process) {
  await until(`${process.name} accepts connections`, async () => {
    if (process.child.exitCode !== null || process.child.signalCode !== null || !process.child.pid) {
      throw new Error(`${process.name} did not start:\n${lastLines(process.log)}`);
    }
    return connects(process.port);
  });
  process.isUp = true;
}

/** Ends all processes, the last one first; those of one kind together. Others can be started then. */
export async function stopAll({ atOnce }) {
  isStopping = true;
  if (atOnce) for (const process of started) process.child.kill("SIGKILL");
  for (const kind of new Set(started.map(kindOf).reverse())) {
    await Promise.all(started.filter((process) => kindOf(process) === kind).map(end));
  }
  started.length = 0;
  isStopping = false;
}

const kindOf = ({ name }) => name.split("-")[0];

async function end(process) {
  if (process.child.exitCode !== null || process.child.signalCode !== null || !process.child.pid) return;
  process.child.kill(process.stop);
  const killer = setTimeout(() => process.child.kill("SIGKILL"), STOP_MS);
  await process.ended;
  clearTimeout(killer);
}

/** Waits until `condition` is true. */
export async function until(what, condition) {
  const end = Date.now() + START_MS;
  while (!(await condition())) {
    if (isStopping) throw new Stopped();
    if (Date.now() > end) throw new Error(`not within ${START_MS / 1000} s: ${what}`);
    await sleep(50);
  }
}

/** Runs a program to its end, as `user` if one is given; returns its output. */
export async function output(program, args, user) {
  const options = { cwd: "/", env: withoutSettings(), ...(user ?? {}) };
  try {
    return (await promisify(execFile)(program, args, options)).stdout;
  } catch (error) {
    throw new Error(`${program} failed: ${error.stderr || error.stdout || error.message}`);
  }
}

/** Creates the directory of a process. */
export function directoryOf(cluster, name, user) {
  const directory = join(cluster.dir, name);
  if (!existsSync(directory)) {
    mkdirSync(directory, { mode: 0o700 });
    if (user) chownSync(directory, user.uid, user.gid);
  }
  return directory;
}

/** Fails if one of the ports is taken. */
export async function checkPorts(ports) {
  for (const port of ports) {
    const probe = createServer().listen(port, "127.0.0.1");
    const [error] = await Promise.race([once(probe, "listening"), once(probe, "error")]).catch((error) => [error]);
    if (error) throw new Error(`port ${port} is in use: choose 20 others with CLUSTER_PORT=<the first one>`);
    probe.close();
    await once(probe, "close");
  }
}

function connects(port) {
  return new Promise((answer) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => answer(true)).once("error", () => answer(false)).once("connect", () => socket.destroy());
  });
}

/** The environment without settings of another Plaudit. */
function withoutSettings() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PLAUDIT_")));
}

function lastLines(log) {
  return readFileSync(log, "utf8").trimEnd().split("\n").slice(-10).join("\n");
}
