// Clients with a normalised cache: Apollo Client and urql, set up as their documentation says. A query and a
// subscription share only the note in the cache; there are no update functions.

import { ApolloClient, ApolloLink, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { GraphQLWsLink } from "@apollo/client/link/subscriptions";
import { getMainDefinition } from "@apollo/client/utilities";
import { Client, fetchExchange, subscriptionExchange } from "@urql/core";
import { cacheExchange } from "@urql/exchange-graphcache";
import { WatchedNote, watchSubscription, watchedQuery } from "./watching.js";
import { plainClients } from "./plain.js";

const isSubscription = ({ query }) => getMainDefinition(query).operation === "subscription";

function apollo(server) {
  const socket = plainClients["graphql-ws"](server);
  const client = new ApolloClient({
    cache: new InMemoryCache(),
    link: ApolloLink.split(
      isSubscription,
      new GraphQLWsLink(socket),
      new HttpLink({ uri: server.graphqlUrl, headers: { Authorization: server.bearer } }),
    ),
  });
  return {
    watch(id) {
      const [note, variables] = [new WatchedNote(), { id }];
      const fail = (error) => note.fail(error);
      const query = client.watchQuery({ query: gql(watchedQuery), variables });
      const querySubscription = query.subscribe({ next: ({ data }) => note.receive(data?.note), error: fail });
      const events = client.subscribe({ query: gql(watchSubscription), variables });
      const eventSubscription = events.subscribe({ next: ({ error }) => error && fail(error), error: fail });
      return { note, stop: () => [querySubscription, eventSubscription].forEach((each) => each.unsubscribe()) };
    },
    mutate: async (mutation, variables) => (await client.mutate({ mutation: gql(mutation), variables })).data,
    dispose: () => (client.stop(), socket.dispose()),
  };
}

function urql(server) {
  const socket = plainClients["graphql-ws"](server);
  const forwardSubscription = (request) => ({
    subscribe: (sink) => ({ unsubscribe: socket.subscribe({ ...request, query: request.query ?? "" }, sink) }),
  });
  const client = new Client({
    url: server.graphqlUrl,
    fetchOptions: { headers: { Authorization: server.bearer } },
    exchanges: [cacheExchange({}), fetchExchange, subscriptionExchange({ forwardSubscription })],
  });
  return {
    watch(id) {
      const note = new WatchedNote();
      const query = client.query(watchedQuery, { id });
      const show = ({ data, error }) => (error ? note.fail(error) : note.receive(data?.note));
      const querySubscription = query.subscribe(show);
      const events = client.subscription(watchSubscription, { id });
      const eventSubscription = events.subscribe(({ error }) => error && note.fail(error));
      return { note, stop: () => [querySubscription, eventSubscription].forEach((each) => each.unsubscribe()) };
    },
    mutate: async (mutation, variables) => {
      const { data, error } = await client.mutation(mutation, variables).toPromise();
      if (error) throw error;
      return data;
    },
    dispose: () => socket.dispose(),
  };
}

export const cachingClients = { "Apollo Client": apollo, urql };
