import { createContext, useContext, useSyncExternalStore } from "react";
import { Client, type Exchange, fetchExchange, subscriptionExchange } from "urql";
import { type Session, TokenSource } from "../session";
import { cache } from "./cache";
import { Journal } from "./journal";
import { newestExchange } from "./newest";
import { recordExchange } from "./record";
import { resumable } from "./resumable";
import { type Connection, Socket } from "./socket";

/** The client, socket and journal of one session. */
export interface Api {
  session: Session | undefined;
  tokens: TokenSource | undefined;
  client: Client;
  socket: Socket;
  journal: Journal;
}

/**
 * Queries and mutations use POST, subscriptions one WebSocket; all share one cache. The exchanges
 * `observers` see the traffic between the cache and the network.
 */
export function createApi(session: Session | undefined, ...observers: Exchange[]): Api {
  const tokens = session && new TokenSource(session);
  const journal = new Journal();
  const socket = new Socket(tokens, journal);
  const client = new Client({
    url: "/graphql",
    preferGetMethod: false,
    fetch: tokens ? fetchWith(tokens) : fetch,
    exchanges: [
      cache(),
      newestExchange(),
      ...observers,
      recordExchange(journal),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query, variables }) => ({
          subscribe: (sink) => {
            const { payload, received } = resumable(query ?? "", variables as Record<string, unknown>);
            const next = (message: never) => {
              received(message);
              sink.next(message);
            };
            return { unsubscribe: socket.client.subscribe(payload, { ...sink, next } as never) };
          },
        }),
      }),
    ],
  });
  return { session, tokens, client, socket, journal };
}

/** Adds the session's token to requests; a refused token is renewed once. */
const fetchWith =
  (tokens: TokenSource): typeof fetch =>
  async (input, init) => {
    const send = async () => {
      const headers = new Headers(init?.headers);
      headers.set("Authorization", `Bearer ${await tokens.fresh()}`);
      return fetch(input, { ...init, headers });
    };
    const answer = await send();
    if (answer.status !== 401) return answer;
    tokens.markRefused();
    return send();
  };

const ApiContext = createContext<Api | undefined>(undefined);
export const ApiProvider = ApiContext.Provider;

export function useApi(): Api {
  const api = useContext(ApiContext);
  if (!api) throw new Error("no ApiProvider above this component");
  return api;
}

export function useConnection(): Connection {
  const { socket } = useApi();
  return useSyncExternalStore(socket.listen, () => socket.connection);
}
