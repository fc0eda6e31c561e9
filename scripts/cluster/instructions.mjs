// What is printed once all runs.

import { relative } from "node:path";

import { adminUrl } from "./postgres.mjs";

export function instructions({ dir, ports }) {
  const at = relative(process.cwd(), dir) || ".";
  const local = (ports) => ports.map((port) => `127.0.0.1:${port}`).join("  ");
  const kill = (name) => `kill -9 $(cat ${at}/${name}.pid)`;
  const front = `http://127.0.0.1:${ports.front}`;
  return `
Plaudit runs, from its processes' logs to its stores in ${at}.

  demo app        ${front}/  (HAProxy, before both API processes)
  API             ${local(ports.apis)}
  pipeline        ${local(ports.pipelines)}
  Redis           ${local(ports.redis)}  (redis-1 to redis-6; at first the first three are masters)
  PostgreSQL      ${local(ports.postgres)}  (postgres-1, the primary; postgres-2, the standby, which also answers reads)
                  ${local([ports.database])}  (HAProxy: whichever of them accepts connections)

Like something in two windows, start the storm, then kill. What was killed starts again after 10 s, except postgres-1.

  a master of Redis       ${kill("redis-1")}
  a pipeline process      ${kill("pipeline-1")}
  an API process          ${kill("api-1")}
  the primary             ${kill("postgres-1")}
    and promote           psql ${adminUrl(ports.postgres[1])} -c 'SELECT pg_promote()'

Watch the numbers in the windows, and

  what is ready           curl -s ${local(ports.apis.slice(0, 1))}/status
  who is a master         redis-cli -p ${ports.redis[1]} cluster nodes
  what Plaudit says       tail -f ${at}/pipeline-1.log ${at}/pipeline-2.log ${at}/api-1.log

Ctrl-C ends all of it.
`;
}
