// A server that a test may kill and start again.

import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const bin = process.env.PLAUDIT_BIN;
if (!bin) throw new Error("PLAUDIT_BIN is not set: run these tests by run.sh");

/** Settings of the other server do not belong to this one. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PLAUDIT_")));

export class OwnServer {
  #process;
  #port;
  #flags;
  #dir = mkdtempSync(join(tmpdir(), "plaudit-tests-"));

  /** `flags` are more settings, such as `["--moderator", "http", …]`. */
  constructor(flags = []) {
    this.#flags = flags;
    chmodSync(this.#dir, 0o755); // PostgreSQL runs as another user than root, and must get in here
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

  /** Until it is ready. Each time on the same port, as behind one address. */
  async start() {
    this.#port ??= await freePort();
    const flags = ["--listen", `127.0.0.1:${this.#port}`, "--appendfsync", "always", ...this.#flags, ...this.#place()];
    this.#process = spawn(bin, ["serve", ...flags], { env, stdio: ["ignore", "pipe", "ignore"] });
    const lines = createInterface({ input: this.#process.stdout });
    for await (const line of lines) if (line.startsWith("listening on")) return;
    throw new Error("the server did not start");
  }

  /** Has it say that it stops. */
  stop() {
    return this.#end("SIGTERM");
  }

  /** In the middle of whatever it does. */
  kill() {
    return this.#end("SIGKILL");
  }

  async #end(signal) {
    const ended = once(this.#process, "exit");
    this.#process.kill(signal);
    await ended;
  }

  /** While it is stopped: the tokens that it gave before are not its own any more. */
  forgetSecret() {
    rmSync(join(this.#dir, "data", "jwt-secret"));
  }

  /** What a user's requests carry. */
  bearer(user) {
    const { stdout } = spawnSync(bin, ["token", "--user", user, ...this.#place()], { env, encoding: "utf8" });
    return `Bearer ${stdout.trim()}`;
  }

  async dispose() {
    await this.kill();
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 20 });
  }

  #place() {
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
