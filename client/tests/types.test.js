// The types are those that an app is written against: elements in JSX, counts that are numbers, storage with promises.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

test("a page of an app is compiled, and its mistakes are found", () => {
  const { stdout, status } = spawnSync("node_modules/.bin/tsc", ["-p", "tests/types"], { cwd: join(import.meta.dirname, ".."), encoding: "utf8" });
  assert.equal(stdout, "");
  assert.equal(status, 0);
});
