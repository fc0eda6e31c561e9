// Clients and the statuses 294 and 422: they show data beside errors, and the errors of what is refused.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ApolloClient, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { Client, fetchExchange } from "@urql/core";
import { GraphQLClient } from "graphql-request";
import relay from "relay-runtime";
import { graphqlUrl } from "./server.js";

const PARTIAL = 'query Partial { __typename note(id: "note_0") { id } }';
const REFUSED = "query Refused { __typename nothing }";
const accept = "application/graphql-response+json";

/** The statuses that a client got. */
function watched() {
  const statuses = [];
  const watchedFetch = async (url, init) => {
    const response = await fetch(url, init);
    statuses.push(response.status);
    return response;
  };
  return [watchedFetch, statuses];
}

/** Each asks once; returns data, and the messages of errors. */
const clients = {
  "Apollo Client": async (fetch, query) => {
    const client = new ApolloClient({ cache: new InMemoryCache(), link: new HttpLink({ uri: graphqlUrl, fetch }) });
    const { data, error } = await client.query({ query: gql(query), errorPolicy: "all" });
    return [data, error.errors];
  },
  urql: async (fetch, query) => {
    const client = new Client({ url: graphqlUrl, fetch, exchanges: [fetchExchange], preferGetMethod: false });
    const { data, error } = await client.query(query, {}).toPromise();
    return [data, error.graphQLErrors];
  },
  "graphql-request": async (fetch, query) => {
    const client = new GraphQLClient(graphqlUrl, { fetch, headers: { accept }, errorPolicy: "all" });
    try {
      const { data, errors } = await client.rawRequest(query);
      return [data, errors];
    } catch (error) {
      return [error.response.data, error.response.errors];
    }
  },
  Relay: async (fetch, query) => {
    // As Relay's guide writes the network: without a look at the status.
    const network = relay.Network.create(async ({ text }, variables) => {
      const headers = { "content-type": "application/json", accept };
      const response = await fetch(graphqlUrl, { method: "POST", headers, body: JSON.stringify({ query: text, variables }) });
      return response.json();
    });
    const answer = await network.execute({ text: query, name: "Q", operationKind: "query" }, {}, {}).toPromise();
    return [answer.data, answer.errors];
  },
};

for (const [name, ask] of Object.entries(clients)) {
  test(`${name} shows data beside errors (294), and why a document was refused (422)`, async () => {
    const [partialFetch, partialStatuses] = watched();
    const [data, errors] = await ask(partialFetch, PARTIAL);
    assert.deepEqual([data.__typename, data.note, errors.length], ["Query", null, 1]);
    assert.deepEqual([errors[0].extensions.code, partialStatuses], ["BAD_USER_INPUT", [294]]);
    const [refusedFetch, refusedStatuses] = watched();
    const [nothing, reasons] = await ask(refusedFetch, REFUSED);
    assert.deepEqual([nothing ?? null, reasons[0].extensions.code], [null, "GRAPHQL_VALIDATION_FAILED"]);
    assert.deepEqual(refusedStatuses, [422]);
  });
}
