// The gateway's configuration, as docs/guide/federation.md shows it.

import { defineConfig } from "@graphql-hive/gateway";

export const gatewayConfig = defineConfig({
  propagateHeaders: {
    fromClientToSubgraphs: ({ request }) => ({ authorization: request.headers.get("authorization") ?? undefined }),
  },
  transportEntries: {
    plaudit: {
      options: {
        subscriptions: {
          kind: "ws",
          location: "/graphql/ws",
          options: { connectionParams: { Authorization: "{context.headers.authorization}" } },
        },
      },
    },
  },
});
