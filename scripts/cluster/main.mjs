// `make cluster`: Plaudit as on many machines, on this one. Three masters of Redis with a replica each, PostgreSQL with a
// streaming standby, two API and two pipeline processes, and HAProxy in front. For a look at failovers: everybody on this
// machine may connect, and each start begins with new demo data.
//
// main.mjs [FLAGS of plaudit serve]; CLUSTER_PORT: the first of 20 ports; CLUSTER_DIR: place of data and logs;
// PLAUDIT_BIN: the program.

import { startCluster } from "./cluster.mjs";
import { instructions } from "./instructions.mjs";
import { Stopped, stopAll } from "./processes.mjs";

let stopping;

/** Ends what was started, in the reverse order; once more at once. */
async function stop(status) {
  const isImpatient = stopping !== undefined;
  stopping ??= status;
  await stopAll({ atOnce: isImpatient });
  process.exit(stopping);
}

for (const [signal, status] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]]) {
  process.on(signal, () => {
    console.log(stopping === undefined ? "\nstopping; once more: at once" : "\nkilling");
    void stop(status);
  });
}

try {
  console.log("starting Redis, PostgreSQL, HAProxy and Plaudit");
  console.log(instructions(await startCluster({ flags: process.argv.slice(2) })));
} catch (error) {
  if (!(error instanceof Stopped)) console.error(`cluster: ${error.message}`);
  if (stopping === undefined) await stop(1);
}
