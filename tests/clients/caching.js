// Clients with a normalised cache: Apollo Client and urql, set up as their documentation says, and with plaudit-client.
// A query and a subscription share only the note in the cache; there are no update functions.

import { ApolloClient, ApolloLink, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { getMainDefinition } from "@apollo/client/utilities";
import { Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { createPlaudit } from "plaudit-client";
import { lineLink, newestLink } from "plaudit-client/apollo";
import { forwardTo, intentsExchange, newestExchange, optimistic } from "plaudit-client/urql";
import { WatchedNote, WebSocket, watchSubscription, watchedQuery } from "./watching.js";
import { plainClients } from "./plain.js";

const isSubscription = ({ query }) => getMainDefinition(query).operation === "subscription";

const httpLink = ({ graphqlUrl, bearer }) => new HttpLink({ uri: graphqlUrl, headers: { Authorization: bearer } });

function apollo(server) {
  const socket = plainClients["graphql-ws"](server);
  return watchedApollo(ApolloLink.split(isSubscription, new GraphQLWsLink(socket), httpLink(server)), () => socket.dispose());
}

function apolloWithPlaudit(server) {
  const plaudit = plauditOf(server);
  const link = ApolloLink.split(isSubscription, lineLink(plaudit), httpLink(server));
  return watchedApollo(ApolloLink.from([newestLink(plaudit), link]), () => plaudit.close());
}

const plauditOf = ({ graphqlUrl, bearer, webSocket = WebSocket }) =>
  createPlaudit({ url: graphqlUrl, token: bearer.slice("Bearer ".length), webSocket });

function watchedApollo(link, dispose) {
  const client = new ApolloClient({ cache: new InMemoryCache(), link });
  return {
    watch(id) {
      const [note, variables] = [new WatchedNote(), { id }];
      const fail = (error) => note.fail(error);
      const query = client.watchQuery({ query: gql(watchedQuery), variables });
      const querySubscription = query.subscribe({ next: ({ data }) => note.receive(data?.note), error: fail });
      const events = client.subscribe({ query: gql(watchSubscription), variables });
      const eventSubscription = events.subscribe({ next: ({ error }) => error && fail(error), error: fail });
      const stop = () => [querySubscription, eventSubscription].forEach((each) => each.unsubscribe());
      return { note, refetch: () => query.refetch(), stop };
    },
    mutate: async (mutation, variables) => (await client.mutate({ mutation: gql(mutation), variables })).data,
    dispose: () => (client.stop(), dispose()),
  };
}

function urqlWithPlaudit(server) {
  const plaudit = plauditOf(server);
  const exchanges = [
    cacheExchange({ optimistic }),
    newestExchange(plaudit),
    intentsExchange(plaudit),
    fetchExchange,
    subscriptionExchange({ forwardSubscription: forwardTo(plaudit) }),
  ];
  return watchedUrql(server, exchanges, () => plaudit.close());
}

function urql(server) {
  const socket = plainClients["graphql-ws"](server);
  const forwardSubscription = (request) => ({
    subscribe: (sink) => ({ unsubscribe: socket.subscribe({ ...request, query: request.query ?? "" }, sink) }),
  });
  const exchanges = [cacheExchange({}), fetchExchange, subscriptionExchange({ forwardSubscription })];
  return watchedUrql(server, exchanges, () => socket.dispose());
}

function watchedUrql({ graphqlUrl, bearer }, exchanges, dispose) {
  const client = new Client({ url: graphqlUrl, fetchOptions: { headers: { Authorization: bearer } }, exchanges });
  return {
    watch(id) {
      const note = new WatchedNote();
      const query = client.query(watchedQuery, { id });
      const show = ({ data, error }) => (error ? note.fail(error) : note.receive(data?.note));
      const querySubscription = query.subscribe(show);
      const events = client.subscription(watchSubscription, { id });
      const eventSubscription = events.subscribe(({ error }) => error && note.fail(error));
      const stop = () => [querySubscription, eventSubscription].forEach((each) => each.unsubscribe());
      const refetch = () => client.query(watchedQuery, { id }, { requestPolicy: "network-only" }).toPromise();
      return { note, refetch, stop };
    },
    mutate: async (mutation, variables) => {
      const { data, error } = await client.mutation(mutation, variables).toPromise();
      if (error) throw error;
      return data;
    },
    dispose,
  };
}

/** They keep what arrives last: a reply and an event come by two connections, so it may be the older one. */
const plainCaching = { "Apollo Client": apollo, urql };

/** They keep the higher version. */
export const newestCaching = {
  "Apollo Client with plaudit-client": apolloWithPlaudit,
  "urql with plaudit-client": urqlWithPlaudit,
};

export const cachingClients = { ...plainCaching, ...newestCaching };
