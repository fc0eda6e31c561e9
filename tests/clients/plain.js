// The clients graphql-ws and graphql-sse, without a framework.

import { createClient as createStreamClient } from "graphql-sse";
import { createClient as createSocketClient } from "graphql-ws";
import { WatchedNote, WebSocket, watchSubscription, watchedQuery } from "./watching.js";

/** Creates each client for a server as its documentation says, without code of Plaudit. */
export const plainClients = {
  "graphql-ws": ({ socketUrl, bearer }) =>
    createSocketClient({ url: socketUrl, webSocketImpl: WebSocket, connectionParams: { Authorization: bearer } }),
  "graphql-sse": ({ streamUrl, bearer }) =>
    createStreamClient({ url: streamUrl, headers: { Authorization: bearer } }),
};

/** Queries a note once. */
export async function query(client, id) {
  for await (const { data, errors } of client.iterate({ query: watchedQuery, variables: { id } })) {
    if (errors) throw new Error(JSON.stringify(errors));
    return data.note;
  }
}

/** Subscribes to the counts of a note. */
export function watch(client, id) {
  const note = new WatchedNote();
  const sink = {
    next: ({ data }) => note.receive(data?.noteCountsChanged),
    error: (error) => note.fail(error),
    complete: () => {},
  };
  const stop = client.subscribe({ query: watchSubscription, variables: { id } }, sink);
  return { note, stop };
}
