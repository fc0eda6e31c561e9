// The official audit of GraphQL over HTTP, by the authors of the specification's reference implementation. Its text is
// older than that of September 2026; specification.test.js holds the newer one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { serverAudits } from "graphql-http";
import { graphqlUrl } from "./server.js";

// These want 400 where the newer text recommends 422: variables that do not fit (SHOULD), and JSON that is no request (MAY).
const OLDER = ["86EE", "423L", "LKJ0", "LKJ1", "LKJ2", "LKJ3", "6C00", "6C01", "6C02", "6C03", "4760", "4761"];
OLDER.push("4762", "4763", "58B0", "58B1", "58B2", "58B3", "3E3A");

const audits = serverAudits({ url: graphqlUrl, fetchFn: fetch });

test("the audit has 61 parts", () => {
  assert.equal(audits.length, 61);
  const ids = audits.map(({ id }) => id);
  assert.deepEqual(OLDER.filter((id) => !ids.includes(id)), []);
});

for (const { id, name, fn } of audits) {
  test(`audit ${id}: ${name}`, async () => {
    const { status, reason } = await fn();
    if (!OLDER.includes(id)) return assert.equal(status, "ok", reason);
    assert.match(reason, /is not 400$/, status);
  });
}
