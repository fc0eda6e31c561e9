// What a like, a feed and idleness cost, with several masters of Redis, API processes and pipeline processes: CPU time of
// each kind of process, and bytes. Cores do not matter: it is the time that work takes, and not how much is done at a time.
//
// costs.mjs; LIKES (12000) and FEEDS (3000) per measurement; MASTERS, APIS and PIPELINES: lists such as "1 2 3"; variables
// of main.mjs, and PLAUDIT_BIN should be an optimised build.

import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { startCluster } from "./cluster.mjs";
import { adminUrl, program } from "./postgres.mjs";
import { stopAll, until } from "./processes.mjs";
import { ask } from "./redis.mjs";

const LIKES = Number(process.env.LIKES ?? 12_000);
const FEEDS = Number(process.env.FEEDS ?? 3_000);
const IDLE_SECONDS = 10;
const CONNECTIONS = 48;
const USERS = 600;
const NOTES = 1_000;
const TICK_US = 1e6 / Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
const KINDS = ["api", "pipeline", "redis", "postgres", "haproxy"];

const LIKE = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed note { likeCount } } }";
const FEED = `{ feed(first: 20) { edges { node { id title likeCount commentCount viewerHasLiked author { id name } } } } }`;
const NO_LIMITS = ["rate-user-reads", "rate-user-writes", "rate-address-reads", "rate-address-writes"].flatMap((name) => [`--${name}`, "0"]);

for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void end(130));

async function end(status) {
  await stopAll({ atOnce: false });
  process.exit(status);
}

/** Measures one cluster. */
async function measure(masters, apis, pipelines) {
  const cluster = await startCluster({ masters, apis, pipelines, flags: NO_LIMITS });
  const clients = new Clients(cluster);
  for (let user = 0; user < USERS; user += CONNECTIONS) await clients.together(user, user + CONNECTIONS, (n) => [LIKE, n, NOTES + 1]);
  await persisted(cluster, USERS);

  console.log(`${masters} masters, ${apis} API processes, ${pipelines} pipeline processes`);
  const held = await bytesHeld(cluster);
  const likes = await clients.costs(cluster, LIKES, (n) => [LIKE, n % USERS, 1 + (Math.floor(n / USERS) * 7 + n) % NOTES], "like");
  const more = await bytesHeld(cluster);
  const feeds = await clients.costs(cluster, FEEDS, (n) => [FEED, n % USERS], "feed");
  console.log(`  like  ${likes.text}`);
  console.log(`        kept: ${perUnit(held, more, LIKES)}`);
  console.log(`  feed  ${feeds.text}`);
  console.log(`  idle  CPU µs per second: ${await idle(cluster)}`);
  await stopAll({ atOnce: false });
}

/** Clients with keep-alive connections to HAProxy. */
class Clients {
  #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  #sent = 0;
  #received = 0;

  constructor(cluster) {
    this.port = cluster.ports.front;
    this.secret = cluster.secret;
  }

  /** Runs requests `from` to `to`; each is [document, number of the user, number of a note]. */
  async together(from, to, what) {
    let next = from;
    const worker = async () => {
      while (next < to) {
        const one = what(next++);
        while (!(await this.#send(...one))) await sleep(50); // RETRY_LATER
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  }

  /** Runs that many, and says what each took. */
  async costs(cluster, count, what, unit) {
    const [before, began] = [cpu(cluster), performance.now()];
    [this.#sent, this.#received] = [0, 0];
    await this.together(0, count, what);
    if (unit === "like") await persisted(cluster, count);
    const seconds = (performance.now() - began) / 1000;
    const used = usedSince(cluster, before, count);
    const bytes = `${Math.round(this.#sent / count)} B in, ${Math.round(this.#received / count)} B out`;
    return { text: `CPU µs: ${used}; ${bytes}; ${Math.round(count / seconds)} per second` };
  }

  /** Whether it was not told to retry. */
  #send(query, user, note) {
    const body = JSON.stringify({ query, variables: note ? { n: `note_${note}` } : {} });
    const headers = { "content-type": "application/json", authorization: `Bearer ${token(this.secret, `cost ${user}`)}` };
    return new Promise((done, fail) => {
      const sending = request({ port: this.port, method: "POST", path: "/graphql", agent: this.#agent, headers }, (answer) => {
        let text = "";
        answer.on("data", (part) => (text += part));
        answer.on("end", () => {
          this.#sent += Buffer.byteLength(body) + sending._header.length;
          this.#received += Buffer.byteLength(text) + answer.rawHeaders.join("").length;
          const isRefused = text.includes("RETRY_LATER");
          return text.includes('"errors"') && !isRefused ? fail(new Error(text)) : done(!isRefused);
        });
      });
      sending.on("error", fail);
      sending.end(body);
    });
  }
}

function token(secret, subject) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: subject, exp: 4e9 })}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

/** CPU time of the cluster's processes in µs, by kind. */
function cpu(cluster) {
  const used = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
  for (const id of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const cwd = readlinkSync(`/proc/${id}/cwd`);
      if (!cwd.startsWith(`${cluster.dir}/`)) continue;
      const kind = cwd.slice(cluster.dir.length + 1).split("-")[0];
      const fields = readFileSync(`/proc/${id}/stat`, "utf8").split(") ")[1].split(" ");
      used[kind] += (Number(fields[11]) + Number(fields[12])) * TICK_US;
    } catch {
      // The process has ended.
    }
  }
  return used;
}

/** CPU time since `before`, of each of `count` units, by kind. */
function usedSince(cluster, before, count) {
  const after = cpu(cluster);
  return KINDS.map((kind) => `${kind} ${Math.round((after[kind] - before[kind]) / count)}`).join(", ");
}

/** CPU time per second without requests. */
async function idle(cluster) {
  const before = cpu(cluster);
  await sleep(IDLE_SECONDS * 1000);
  return usedSince(cluster, before, IDLE_SECONDS);
}

function sql(cluster, text) {
  return execFileSync(program("psql"), ["-At", adminUrl(cluster.ports.postgres[0]).replace(/postgres$/, "plaudit"), "-c", text], { encoding: "utf8" });
}

/** Waits until so many more likes are rows. */
async function persisted(cluster, more) {
  cluster.liked = (cluster.liked ?? 0) + more;
  const rows = "SELECT count(*) FROM note_like JOIN app_user AS u ON u.id = actor_id WHERE u.subject LIKE 'cost %'";
  await until("likes are persisted", async () => {
    await sleep(200);
    return Number(sql(cluster, rows)) >= cluster.liked;
  });
}

/** Bytes in PostgreSQL's tables and WAL, and in the masters of Redis. */
async function bytesHeld(cluster) {
  const { redis } = cluster.ports;
  const memory = await Promise.all(redis.slice(0, redis.length / 2).map((port) => ask(port, "info", "memory")));
  const used = memory.map((text) => Number(/used_memory:(\d+)/.exec(text)[1])).reduce((sum, bytes) => sum + bytes, 0);
  const [disk, wal] = sql(cluster, "SELECT pg_database_size('plaudit'), pg_current_wal_lsn() - '0/0'").trim().split("|").map(Number);
  return { "PostgreSQL's tables": disk, "its WAL": wal, "memory of Redis": used };
}

function perUnit(before, after, count) {
  return Object.keys(before).map((name) => `${Math.round((after[name] - before[name]) / count)} B ${name}`).join(", ");
}

const list = (name) => (process.env[name] ?? { MASTERS: "1 2 3", APIS: "1 2 3", PIPELINES: "1" }[name]).split(" ").map(Number);
try {
  for (const masters of list("MASTERS")) {
    for (const apis of list("APIS")) {
      for (const pipelines of list("PIPELINES")) await measure(masters, apis, pipelines);
    }
  }
  await end(0);
} catch (error) {
  console.error(`costs: ${error.message}`);
  await end(1);
}
