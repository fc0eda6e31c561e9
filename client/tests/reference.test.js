// The reference is the one of these types.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { reference } from "../reference.mjs";

const root = join(import.meta.dirname, "..");

test("the pages in reference/ are those of the types; after a change: npm run reference", () => {
  const pages = reference();
  for (const [path, text] of pages) assert.equal(readFileSync(join(root, path), "utf8"), text, path);
  assert.deepEqual(readdirSync(join(root, "reference")).sort(), pages.map(([path]) => path.split("/")[1]).sort());
});
