/** The input of a snippet. */
export interface Call {
  kind: "query" | "mutation" | "subscription";
  query: string;
  variables: Record<string, unknown>;
  /** Base URL of the service, such as `https://plaudit.example`. */
  origin: string;
  /** User whose token the snippet requests; undefined: no token. */
  user?: string;
}

/** Programs that send one operation as the page sent it. They run unchanged and contain no token. */
export const SNIPPETS: { name: string; write: (call: Call) => string }[] = [
  { name: "curl", write: curl },
  { name: "graphql-ws", write: graphqlWs },
  { name: "urql", write: urql },
  { name: "Apollo", write: apollo },
];

/** A link that opens the operation in GraphiQL. */
export function graphiqlLink({ query, variables }: Pick<Call, "query" | "variables">): string {
  return `/graphiql?${new URLSearchParams({ query, variables: json(variables) })}`;
}

/** A script for a POSIX shell. A subscription uses server-sent events. */
export function curl({ kind, query, variables, origin, user }: Call): string {
  const isLive = kind === "subscription";
  return lines([
    user && `TOKEN=$(curl -s ${quoted(tokenUrl(origin, user))} | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')`,
    `curl ${isLive ? "-sN" : "-s"} ${quoted(`${origin}/graphql${isLive ? "/stream" : ""}`)} \\`,
    user && `  -H "Authorization: Bearer $TOKEN" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -H 'Accept: ${isLive ? "text/event-stream" : "application/graphql-response+json"}' \\`,
    `  --data-raw ${quoted(JSON.stringify({ query, variables }))}`,
  ]);
}

/** A module for Node 22, Deno, Bun or a browser, as are the next two snippets. */
export function graphqlWs({ query, variables, origin, user }: Call): string {
  return lines([
    "// npm install graphql graphql-ws",
    `import { createClient } from "graphql-ws";`,
    "",
    ...token(origin, user),
    "const client = createClient({",
    `  url: ${text(socketUrl(origin))},`,
    user && "  connectionParams: { Authorization: `Bearer ${TOKEN}` },",
    "});",
    "const results = client.iterate({",
    `  query: ${template(query)},`,
    `  variables: ${json(variables)},`,
    "});",
    "for await (const result of results) console.log(JSON.stringify(result));",
    "await client.dispose();",
  ]);
}

export function urql({ kind, query, variables, origin, user }: Call): string {
  const isLive = kind === "subscription";
  return lines([
    `// npm install @urql/core graphql${isLive ? " graphql-ws" : ""}`,
    `import { Client, ${isLive ? "subscriptionExchange" : "fetchExchange"} } from "@urql/core";`,
    isLive && `import { createClient } from "graphql-ws";`,
    "",
    ...token(origin, user),
    isLive && "const socket = createClient({",
    isLive && `  url: ${text(socketUrl(origin))},`,
    isLive && user && "  connectionParams: { Authorization: `Bearer ${TOKEN}` },",
    isLive && "});",
    "const client = new Client({",
    `  url: ${text(`${origin}/graphql`)},`,
    "  preferGetMethod: false,",
    !isLive && user && "  fetchOptions: { headers: { Authorization: `Bearer ${TOKEN}` } },",
    !isLive && "  exchanges: [fetchExchange],",
    isLive && "  exchanges: [",
    isLive && "    subscriptionExchange({",
    isLive && "      forwardSubscription: (request) => ({",
    isLive && "        subscribe: (sink) => ({ unsubscribe: socket.subscribe(request, sink) }),",
    isLive && "      }),",
    isLive && "    }),",
    isLive && "  ],",
    "});",
    `const query = ${template(query)};`,
    `const variables = ${json(variables)};`,
    isLive
      ? "client.subscription(query, variables).subscribe(({ data, error }) => console.log(JSON.stringify(data), error));"
      : `const { data, error } = await client.${kind}(query, variables).toPromise();`,
    !isLive && "console.log(JSON.stringify(data), error);",
  ]);
}

export function apollo({ kind, query, variables, origin, user }: Call): string {
  const isLive = kind === "subscription";
  const link = isLive ? "GraphQLWsLink" : "HttpLink";
  const options = `{ ${kind}: gql(document), variables }`.replace("subscription", "query");
  return lines([
    `// npm install @apollo/client graphql rxjs${isLive ? " graphql-ws" : ""}`,
    `import { ApolloClient, ${isLive ? "" : "HttpLink, "}InMemoryCache, gql } from "@apollo/client";`,
    isLive && `import { GraphQLWsLink } from "@apollo/client/link/subscriptions";`,
    isLive && `import { createClient } from "graphql-ws";`,
    "",
    ...token(origin, user),
    isLive && "const socket = createClient({",
    isLive && `  url: ${text(socketUrl(origin))},`,
    isLive && user && "  connectionParams: { Authorization: `Bearer ${TOKEN}` },",
    isLive && "});",
    "const client = new ApolloClient({",
    "  cache: new InMemoryCache(),",
    isLive && `  link: new ${link}(socket),`,
    !isLive && `  link: new ${link}({`,
    !isLive && `    uri: ${text(`${origin}/graphql`)},`,
    !isLive && user && "    headers: { Authorization: `Bearer ${TOKEN}` },",
    !isLive && "  }),",
    "});",
    `const document = ${template(query)};`,
    `const variables = ${json(variables)};`,
    isLive
      ? `client.subscribe(${options}).subscribe(({ data, error }) => console.log(JSON.stringify(data), error));`
      : `const { data } = await client.${kind === "query" ? "query" : "mutate"}(${options});`,
    !isLive && "console.log(JSON.stringify(data));",
  ]);
}

/** JavaScript that reads the token. */
function token(origin: string, user: string | undefined): string[] {
  if (!user) return [];
  return [
    "// A development server issues tokens. In production your sign-in does.",
    `const { token: TOKEN } = await (await fetch(${text(tokenUrl(origin, user))})).json();`,
    "",
  ];
}

const tokenUrl = (origin: string, user: string) => `${origin}/dev/token?${new URLSearchParams({ user })}`;
const socketUrl = (origin: string) => `${origin.replace(/^http/, "ws")}/graphql/ws`;
const json = (value: unknown) => JSON.stringify(value, null, 2);
const text = (value: string) => JSON.stringify(value);

/** Quotes a value for a POSIX shell. A single quote must be escaped outside the quotes. */
const quoted = (value: string) => `'${value.replaceAll("'", `'\\''`)}'`;

const template = (value: string) => `\`\n${value.trim().replace(/[\\`]|\$\{/g, "\\$&")}\n\``;

const lines = (all: (string | false | undefined)[]) =>
  `${all.filter((line) => line !== false && line !== undefined).join("\n")}\n`;
