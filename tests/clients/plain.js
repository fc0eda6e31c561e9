// graphql-ws and graphql-sse without a framework.

import { createClient as createStreamClient } from "graphql-sse";
import { createClient as createSocketClient } from "graphql-ws";
import { Shown, WebSocket, watchSubscription, watchedQuery } from "./watching.js";

/** How each is set up for a server, as its documentation says. Without anything of Plaudit's. */
export const plainClients = {
  "graphql-ws": ({ socketUrl, bearer }) =>
    createSocketClient({ url: socketUrl, webSocketImpl: WebSocket, connectionParams: { Authorization: bearer } }),
  "graphql-sse": ({ streamUrl, bearer }) =>
    createStreamClient({ url: streamUrl, headers: { Authorization: bearer } }),
};

/** Has a client ask once. */
export async function query(client, id) {
  for await (const { data, errors } of client.iterate({ query: watchedQuery, variables: { id } })) {
    if (errors) throw new Error(JSON.stringify(errors));
    return data.note;
  }
}

/** Has a client watch a note. */
export function watch(client, id) {
  const shown = new Shown();
  const sink = {
    next: ({ data }) => shown.show(data?.noteCountsChanged),
    error: (error) => shown.fail(error),
    complete: () => {},
  };
  const stop = client.subscribe({ query: watchSubscription, variables: { id } }, sink);
  return { shown, stop };
}
