import { type ConnectionState, type Plaudit, type Tokens, createPlaudit } from "plaudit-client";
import { forwardTo, intentsExchange, newestExchange } from "plaudit-client/urql";
import { createContext, useContext, useSyncExternalStore } from "react";
import { Client, type Exchange, fetchExchange, subscriptionExchange } from "urql";
import { type Session, tokenOf } from "../session";
import { cache } from "./cache";
import { recordingWebSocket } from "./frames";
import { Journal } from "./journal";
import { recordExchange } from "./record";

/** The client, line and journal of one session. */
export interface Api {
  session: Session | undefined;
  client: Client;
  plaudit: Plaudit;
  journal: Journal;
}

/** Live events per second and object. */
export const LIST_RATE = 5;

/**
 * Queries and most mutations use POST; subscriptions, likes and the like go over the line of plaudit-client. All share
 * one cache. The exchanges `observers` see the traffic between the cache and the network.
 */
export function createApi(session: Session | undefined, ...observers: Exchange[]): Api {
  const journal = new Journal();
  const plaudit = createPlaudit({
    url: "/graphql",
    token: session && tokenOf(session),
    webSocket: recordingWebSocket(journal),
  });
  const client = new Client({
    url: "/graphql",
    preferGetMethod: false,
    fetch: session ? fetchWith(plaudit.tokens) : fetch,
    exchanges: [
      cache(),
      newestExchange(plaudit),
      ...observers,
      recordExchange(journal),
      intentsExchange(plaudit),
      fetchExchange,
      subscriptionExchange({ forwardSubscription: forwardTo(plaudit) }),
    ],
  });
  return { session, client, plaudit, journal };
}

/** Adds the session's token to requests; a refused token is renewed once. */
const fetchWith =
  (tokens: Pick<Tokens, "fresh" | "refuse">): typeof fetch =>
  async (input, init) => {
    const send = async () => {
      const headers = new Headers(init?.headers);
      headers.set("Authorization", `Bearer ${await tokens.fresh()}`);
      return fetch(input, { ...init, headers });
    };
    const answer = await send();
    if (answer.status !== 401) return answer;
    tokens.refuse();
    return send();
  };

const ApiContext = createContext<Api | undefined>(undefined);
export const ApiProvider = ApiContext.Provider;

export function useApi(): Api {
  const api = useContext(ApiContext);
  if (!api) throw new Error("no ApiProvider above this component");
  return api;
}

export function useConnection(): ConnectionState {
  const { plaudit } = useApi();
  return useSyncExternalStore(plaudit.onConnection, () => plaudit.connection);
}
