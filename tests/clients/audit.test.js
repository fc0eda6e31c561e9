// The official audit of GraphQL over HTTP, by the authors of the specification's reference implementation.

import assert from "node:assert/strict";
import { test } from "node:test";
import { serverAudits } from "graphql-http";
import { graphqlUrl } from "./server.js";

const audits = serverAudits({ url: graphqlUrl, fetchFn: fetch });

test("the audit has 61 parts", () => {
  assert.equal(audits.length, 61);
});

for (const { id, name, fn } of audits) {
  test(`audit ${id}: ${name}`, async () => {
    const { status, reason } = await fn();
    assert.equal(status, "ok", reason);
  });
}
