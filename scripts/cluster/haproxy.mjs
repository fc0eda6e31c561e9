// HAProxy before both API processes, and before PostgreSQL: clients of the database reach the primary, or the standby when
// the primary does not accept connections. Until it is promoted, the standby refuses to write.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { run } from "./processes.mjs";

export async function startHaproxy(cluster) {
  const file = join(cluster.dir, "haproxy.cfg");
  writeFileSync(file, configuration(cluster.ports));
  const program = existsSync("/usr/sbin/haproxy") ? "/usr/sbin/haproxy" : "haproxy";
  await run(cluster, "haproxy", program, ["-db", "-f", file], { port: cluster.ports.front });
}

function configuration({ front, database, apis, postgres: [primary, standby] }) {
  const servers = apis.map((port, n) => `  server api-${n + 1} 127.0.0.1:${port}`).join("\n");
  return `
global
  maxconn 4000

defaults
  timeout connect 1s
  timeout check 1s
  timeout client 75s
  timeout server 75s
  timeout tunnel 1h
  option redispatch
  default-server check inter 250ms fall 2 rise 1 on-marked-down shutdown-sessions

# Elsewhere this has the option forwardfor; the development addresses, which the demo app signs in by, answer no request
# that a proxy has passed on.
listen plaudit
  mode http
  bind 127.0.0.1:${front}
  balance leastconn
  option httpchk GET /readyz
${servers}

listen database
  mode tcp
  bind 127.0.0.1:${database}
  timeout client 1h
  timeout server 1h
  server postgres-1 127.0.0.1:${primary}
  server postgres-2 127.0.0.1:${standby} backup
`;
}
