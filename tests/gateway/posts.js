// A subgraph of an app: posts with ids of its own. Plaudit counts for them as notes with these ids as keys.

import { createServer } from "node:http";
import { once } from "node:events";
import { buildSchema, graphql, parse, print, visit } from "graphql";

const withNote = (note) =>
  parse(/* GraphQL */ `
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.5", import: ["@key"])

  type Query {
    posts: [Post!]!
  }

  type Post @key(fields: "id") {
    id: ID!
    headline: String!
    counts: Note
  }

  ${note}
`);

export const typeDefs = withNote('type Note @key(fields: "key") { key: String! post: Post }');
/** The same without a field of notes: their key is all that the app tells. */
export const withStub = withNote('type Note @key(fields: "key", resolvable: false) { key: String! }');

const POSTS = ["a5e1f0c2", "b7d93e44", "c90b1d58"].map((id, n) => ({ id, headline: `Headline ${n + 1}` }));
export const keys = POSTS.map(({ id }) => id);

/** A server that needs no library of federation: entities are looked up by the field `_entities`. */
export async function startPosts() {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const { query, variables, operationName } = JSON.parse(body);
    const answer = await graphql({ schema, source: query, rootValue, variableValues: variables, operationName });
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}/graphql`, stop: () => server.close() };
}

const withoutDirectives = visit(typeDefs, { Directive: () => null, SchemaExtension: () => null });
const schema = buildSchema(`
  ${print(withoutDirectives)}
  scalar _Any
  union _Entity = Post | Note
  extend type Query { _entities(representations: [_Any!]!): [_Entity]! }
`);

const rootValue = {
  posts: () => POSTS.map(post),
  _entities: ({ representations }) =>
    representations.map(({ __typename, id, key }) => {
      const found = POSTS.find((post) => post.id === (id ?? key));
      if (!found) return null;
      return __typename === "Post" ? post(found) : { __typename: "Note", key: found.id, post: post(found) };
    }),
};

function post({ id, headline }) {
  return { __typename: "Post", id, headline, counts: { __typename: "Note", key: id } };
}
