import { createGraphiQLFetcher, type Fetcher } from "@graphiql/toolkit";
import { createClient } from "graphql-ws";

/** Close code for a refused token. */
const FORBIDDEN = 4403;

const socketUrl = new URL("/graphql/ws", location.href);
socketUrl.protocol = location.protocol === "https:" ? "wss:" : "ws:";

/**
 * Queries and mutations go by POST, subscriptions by WebSocket.
 *
 * A socket signs in once, when it opens, so every run gets its own client with the current headers. The client opens
 * its socket only for a subscription and closes it with the subscription.
 */
export const fetcher: Fetcher = (params, options) => {
  const wsClient = createClient({
    url: socketUrl.href,
    connectionParams: options?.headers,
    // The same token would be refused again.
    shouldRetry: (problem) => problem instanceof CloseEvent && problem.code !== FORBIDDEN,
  });
  return createGraphiQLFetcher({
    url: "/graphql",
    wsClient,
    // The service sends no incremental responses.
    enableIncrementalDelivery: false,
  })(params, options);
};
