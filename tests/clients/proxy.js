// A network between client and server that a test can cut, refuse and look into.

import { once } from "node:events";
import { connect, createServer } from "node:net";

export class Proxy {
  #port;
  #server;
  #pairs = new Set();
  #isUp = true;
  /** How long everything takes, each way. */
  latencyMs = 0;
  /** Requests and connections that came, also those that were cut. */
  connections = 0;
  /** Changes what the client sends at the beginning of a connection; null refuses it. */
  rewrite = (bytes) => bytes;

  constructor(target) {
    this.#server = createServer((client) => this.#accept(client, new URL(target)));
  }

  async start() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = this.#server.address().port;
    return this;
  }

  get graphqlUrl() {
    return `http://127.0.0.1:${this.#port}/graphql`;
  }

  #accept(client, { hostname, port }) {
    this.connections += 1;
    client.on("error", () => {});
    if (!this.#isUp) return client.destroy();
    const server = connect(port, hostname);
    const pair = { client, server };
    this.#pairs.add(pair);
    const end = () => {
      client.destroy();
      server.destroy();
      this.#pairs.delete(pair);
    };
    for (const socket of [client, server]) socket.on("error", end).on("close", end);
    client.on("data", (bytes) => {
      const sent = this.rewrite(bytes);
      if (sent) this.#pass(() => server.write(sent));
      else end();
    });
    server.on("data", (bytes) => this.#pass(() => client.write(bytes)));
  }

  #pass(write) {
    if (this.latencyMs) setTimeout(write, this.latencyMs);
    else write();
  }

  /** Ends all connections; new ones fail until `restore`. */
  cut() {
    this.#isUp = false;
    for (const { client } of this.#pairs) client.destroy();
  }

  restore() {
    this.#isUp = true;
  }

  dispose() {
    this.cut();
    this.#server.close();
  }
}
