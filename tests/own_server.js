// A server process that a test can kill and restart.

import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const bin = process.env.PLAUDIT_BIN;
if (!bin) throw new Error("PLAUDIT_BIN is not set: run these tests by run.sh");

/** Without the settings of the server that run.sh has started. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PLAUDIT_")));

export class OwnServer {
  #process;
  #port;
  #flags;
  #dir = mkdtempSync(join(tmpdir(), "plaudit-tests-"));

  /** `flags` are additional flags, such as `["--moderator", "http", …]`. */
  constructor(flags = []) {
    this.#flags = flags;
    chmodSync(this.#dir, 0o755); // if root runs this, PostgreSQL runs as another user, which needs access
  }

  get origin() {
    return `http://127.0.0.1:${this.#port}`;
  }

  get graphqlUrl() {
    return `${this.origin}/graphql`;
  }

  get socketUrl() {
    return `ws://127.0.0.1:${this.#port}/graphql/ws`;
  }

  get streamUrl() {
    return `${this.graphqlUrl}/stream`;
  }

  /** Starts the process and waits until it listens. The port stays the same after a restart. */
  async start() {
    this.#port ??= await freePort();
    const flags = ["--listen", `127.0.0.1:${this.#port}`, "--appendfsync", "always", ...this.#flags, ...this.#dataDirFlags()];
    this.#process = spawn(bin, ["serve", ...flags], { env, stdio: ["ignore", "pipe", "ignore"] });
    const lines = createInterface({ input: this.#process.stdout });
    for await (const line of lines) if (line.startsWith("listening on")) return;
    throw new Error("the server did not start");
  }

  /** Graceful shutdown. */
  stop() {
    return this.#end("SIGTERM");
  }

  /** Crash: no graceful shutdown. */
  kill() {
    return this.#end("SIGKILL");
  }

  async #end(signal) {
    const exited = once(this.#process, "exit");
    this.#process.kill(signal);
    await exited;
  }

  /** The secret of its tokens, once it was started. */
  get secret() {
    return readFileSync(this.#secretFile, "utf8").trimEnd();
  }

  get #secretFile() {
    return join(this.#dir, "data", "jwt-secret");
  }

  /** Call it while the server is stopped: after the next start the server refuses its earlier tokens. */
  forgetSecret() {
    rmSync(this.#secretFile);
  }

  /** The `Authorization` header of a user. */
  bearer(user, role = "user") {
    const flags = ["--user", user, "--role", role, ...this.#dataDirFlags()];
    const { stdout } = spawnSync(bin, ["token", ...flags], { env, encoding: "utf8" });
    return `Bearer ${stdout.trim()}`;
  }

  async dispose() {
    await this.kill();
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 20 });
  }

  #dataDirFlags() {
    return ["--data-dir", join(this.#dir, "data")];
  }
}

async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  return port;
}
