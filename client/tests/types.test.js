// The types are those that an app is written against: elements in JSX, counts that are numbers, storage with promises.
// Counts are those of the schema.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { TYPES, typenameOf, watchDocument } from "../dist/entities.js";

test("a page of an app is compiled, and its mistakes are found", () => {
  const { stdout, status } = spawnSync("node_modules/.bin/tsc", ["-p", "tests/types"], { cwd: join(import.meta.dirname, ".."), encoding: "utf8" });
  assert.equal(stdout, "");
  assert.equal(status, 0);
});

test("every count of the schema is watched", () => {
  const schema = readFileSync(join(import.meta.dirname, "../../schema/schema.graphql"), "utf8");
  for (const type of TYPES) {
    const [, fields] = new RegExp(`^type ${typenameOf(type)} (.*?)^}`, "ms").exec(schema);
    const counts = [...fields.matchAll(/^  (\w+): Count!$/gm)].map(([, count]) => count);
    const watched = watchDocument(type).split(/\W+/);
    const missing = counts.filter((count) => !watched.includes(count));
    assert.ok(counts.length > 0);
    assert.deepEqual(missing, [], `counts of a ${type} that client/src/entities.ts lacks`);
  }
});
