/** Explanation of a number. */
export interface Explanation {
  title: string;
  what: string;
  normal: string;
  /** What to do when it is not normal. */
  act: string;
}

const explained = <Name extends string>(texts: Record<Name, [title: string, what: string, normal: string, act: string]>) =>
  Object.fromEntries(
    Object.entries<[string, string, string, string]>(texts).map(([name, [title, what, normal, act]]) => [
      name,
      { title, what, normal, act },
    ]),
  ) as Record<Name, Explanation>;

export const ABOUT = explained({
  likes: [
    "Likes per second",
    "Likes of notes and comments that changed something, averaged over 3 seconds. A repeated like does not count.",
    "depends on your users.",
    "0 while users are active: look at errors by operation, and at Redis.",
  ],
  requests: [
    "Requests per second",
    "GraphQL operations that were answered over HTTP, WebSocket and event streams, averaged over 3 seconds.",
    "follows the number of users.",
    "a fall to 0: look at the proxy before this process, and at readiness.",
  ],
  errors: [
    "Errors per second",
    "Responses with an error code, caused by the client or by the server. The table shows the operations.",
    "near 0. RATE_LIMITED and a few mistakes of clients are normal.",
    "INTERNAL: look for it in the log. RETRY_LATER: look at the stores and the shards.",
  ],
  account: [
    "Account",
    "Users and addresses that have used a fiftieth of a limit or more in the sliding window, with what they may use. Their numbers are the same until this process restarts, and name nobody.",
    "far below the limits.",
    "an address near its limit: several people behind one proxy, or a client that asks too often. See RATE_LIMITED in the errors.",
  ],
  p50: [
    "p50",
    "Half of the answers of the last 30 seconds took at most this long. Estimated from a histogram.",
    "some milliseconds.",
    "look at the latency of Redis and PostgreSQL, then at the CPU of this process.",
  ],
  p95: [
    "p95",
    "19 of 20 answers of the last 30 seconds took at most this long. Estimated from a histogram.",
    "below 50 ms.",
    "look at the latency of Redis and PostgreSQL, then at the CPU of this process.",
  ],
  p99: [
    "p99",
    "99 of 100 answers of the last 30 seconds took at most this long. Estimated from a histogram.",
    "below 250 ms.",
    "see whether one operation stands out; else look at the stores.",
  ],
  operation: [
    "Operation",
    "By root field of the schema; “several” means different root fields, “unknown” an operation that was refused before it was parsed. A subscription counts once, when it begins.",
    "the busiest first.",
    "an unexpected operation: find out which client sends it.",
  ],
  action: [
    "Actions per second",
    "Actions that changed something, by kind; those that undo, such as an unlike, beside them.",
    "more on than off.",
    "many undone at once may be one user who toggles: rate limits bound that.",
  ],
  foldLag: [
    "Fold lag",
    "Events in the shard's log that are not in the counts yet. Until they are, readers see the older counts.",
    "0, or a few hundred for a moment.",
    "it grows: nobody owns the shard, or Redis is slow. Look at readiness and at Redis.",
  ],
  persistLag: [
    "Persist lag",
    "Events in the shard's log that are not in PostgreSQL yet. They are as durable as Redis.",
    "0 to some thousands during a storm, and falling after it.",
    "it grows for minutes: PostgreSQL is away or too slow. The log keeps everything until its limit.",
  ],
  persistAge: [
    "Oldest unpersisted event",
    "How long the oldest event that is not in PostgreSQL yet has waited.",
    "below 2 s; under load some seconds.",
    "a minute or more: PostgreSQL is away or too slow, or nobody owns the shard.",
  ],
  log: [
    "Log length",
    "Entries in the shard's log in Redis, and how many it may have. It keeps all pending entries and those of the last ten minutes.",
    "below half of the limit.",
    "above half: PostgreSQL has not kept up for long. At the limit, actions are refused with RETRY_LATER: repair PostgreSQL or give Redis more memory.",
  ],
  redis: [
    "Redis latency",
    "How long round trips to Redis took for requests in the last 30 seconds, seen from this process. The chart also shows those of the pipeline.",
    "p95 below 5 ms.",
    "look at the CPU of Redis, at the network, at slow commands (SLOWLOG GET).",
  ],
  database: [
    "PostgreSQL latency",
    "How long statements took for requests in the last 30 seconds, seen from this process. The chart also shows those of the pipeline.",
    "p95 below 50 ms; batches of the pipeline take longer.",
    "look at pg_stat_activity, at disk and locks. Actions continue; only reads from PostgreSQL become slower.",
  ],
  breaker: [
    "Circuit breaker",
    "Open: the store does not answer, so requests that need it are refused at once and do not queue up.",
    "closed.",
    "open for a minute: bring the store back. It closes by itself.",
  ],
  storeErrors: [
    "Failed calls per second",
    "Calls of the store that failed, averaged over 3 seconds.",
    "0.",
    "look for the error in the log of this process.",
  ],
  sockets: [
    "Sockets",
    "WebSockets and event streams that are open at this process.",
    "about one per open app.",
    "a sudden fall: a proxy closed them, or the process restarted. Clients come back by themselves, spread over seconds.",
  ],
  subscriptions: [
    "Subscriptions",
    "Subscriptions that run on the open sockets.",
    "a few per socket.",
    "very many per socket: a client forgets to end them.",
  ],
  executions: [
    "Executions per second",
    "Subscription events that were executed, once per shared subscription.",
    "far fewer than deliveries when many watch the same note.",
    "as many as deliveries: documents differ without need, or they select fields of the viewer.",
  ],
  deliveries: [
    "Deliveries per second",
    "Subscription events that were handed to subscribers.",
    "rises with the number of subscribers.",
    "0 while actions happen and subscriptions run: check whether changes are received.",
  ],
  receiving: [
    "Receives changes",
    "Whether this process receives the changes of all shards from Redis.",
    "yes.",
    "no: its subscriptions get no events until the connection to Redis is back; it reconnects by itself.",
  ],
  drift: [
    "Drift found",
    "Numbers and cached sets that a recount found wrong, since this process started.",
    "0.",
    "every one is a defect or lost memory of Redis: look for “drifted; repaired” in the log.",
  ],
  repaired: [
    "Drift repaired",
    "How many of those were repaired. Repairs are done at once, under the same locks as actions.",
    "as many as were found.",
    "fewer: run “plaudit reconcile”, and look into the log.",
  ],
  dead: [
    "Dead events",
    "Events that PostgreSQL refuses permanently and that are neither retried nor dropped.",
    "0.",
    "“plaudit dead list” says why; then “plaudit dead retry” or “plaudit dead drop”.",
  ],
  lost: [
    "Lost events",
    "Acknowledged actions that Redis lost before they were persisted, since this process started.",
    "0, always.",
    "the log says how many. Then see how Redis lost memory: appendonly, eviction, a failover.",
  ],
  waiting: [
    "With the moderator",
    "Comments, notes and edits that the configured moderator has not decided yet.",
    "0, or a few for some seconds.",
    "it grows: the moderator's model is slow or away; see “moderator_*” in the settings.",
  ],
  undecided: [
    "Waiting for a person",
    "Comments, notes and edits about which the moderator was unsure, or for which it returned no verdict.",
    "as many as your moderators decide within a day.",
    "decide them below.",
  ],
  oldestWait: [
    "Oldest with the moderator",
    "Age of the oldest text that the configured moderator has not decided yet.",
    "some seconds.",
    "minutes: the moderator's model is slow or away. After five tries a text waits for a person.",
  ],
  cpu: [
    "CPU",
    "Cores that this process uses, averaged over 30 seconds.",
    "below the number of cores it may use.",
    "near it: start another process; they share the shards.",
  ],
  files: [
    "Open files",
    "Files and connections that this process has open, and how many it may have.",
    "about one per socket, and some dozens.",
    "near the limit no new socket is taken: raise the limit (ulimit -n), or start another process.",
  ],
  memory: [
    "Memory",
    "Resident memory of this process.",
    "steady after some minutes.",
    "it grows without end: report it, with a graph and the number of subscriptions.",
  ],
});
