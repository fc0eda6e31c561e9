// Page audits: accessibility, layout shift, transfer size.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { createRequire } from "node:module";
import { test } from "node:test";
import { baseUrl, developmentToken, send } from "./browser.js";
import { screens, visitorsForTests } from "./visitor.js";

const openVisitor = visitorsForTests();
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Limit for the first page and its assets, compressed with gzip. */
const MAX_BYTES = 150_000;
/** Largest layout shift while a page loads; up to 0.1 is rated good: https://web.dev/articles/cls */
const MAX_SHIFT = 0.1;

/** Paths of all pages by name. */
async function pages() {
  const { feed } = await send("{ feed(first: 100) { nodes { id author { id } group { id } } } }", await developmentToken());
  const note = feed.nodes.find(({ group }) => group);
  return {
    feed: "/",
    note: `/note/${note.id}`,
    profile: `/user/${note.author.id}`,
    group: `/group/${note.group.id}`,
    groups: "/groups",
    inbox: "/inbox",
    hot: "/hot",
    likes: "/likes",
    "side by side": "/two",
    operations: "/admin",
    elements: "/elements",
  };
}

/** Violations that axe reports, one line per element. */
async function violations(page) {
  // `evaluate` bypasses the Content Security Policy, which would refuse a script element.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target} (${failureSummary})`),
  );
}

/** Waits until no request is pending. */
async function waitUntilIdle(page) {
  await page.locator("h1").first().waitFor();
  await page.waitForLoadState("networkidle").catch(() => {});
  await page.waitForFunction(() => !document.querySelector('[role="status"] [aria-hidden="true"] > i + i'));
}

for (const [name, screen] of Object.entries(screens)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`axe reports no violation on any page, on a ${name} in ${colorScheme}`, async () => {
      // Text that fades in has little contrast for a moment, and counts may change while axe looks.
      const visitor = await openVisitor({ screen, colorScheme, reducedMotion: "reduce" });
      for (const [title, path] of Object.entries(await pages())) {
        await visitor.goTo(path, { live: false });
        await waitUntilIdle(visitor.page);
        assert.deepEqual(await violations(visitor.page), [], title);
        const overflow = await visitor.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${title} is ${overflow} px wider than the screen`);
      }
    });
  }

  test(`on a ${name}, the layout shifts little while the feed loads, and not at all when counts change`, async () => {
    const visitor = await openVisitor({ screen });
    await visitor.page.addInitScript(() => {
      window.shift = 0;
      new PerformanceObserver((list) => {
        for (const { value } of list.getEntries()) window.shift += value;
      }).observe({ type: "layout-shift", buffered: true });
    });
    await visitor.goTo("/");
    const id = (await visitor.notes())[0];
    await visitor.page.waitForLoadState("networkidle");
    const whileLoading = await visitor.page.evaluate(() => window.shift);
    assert.ok(whileLoading < MAX_SHIFT, `${whileLoading} while loading`);

    // Twelve more likes, so that a count of one digit gets a second one.
    const before = await visitor.count(id, "Like");
    for (let i = 1; i <= 12; i++) {
      const token = await developmentToken(`shift.${name}.${Date.now()}.${i}`);
      await send("mutation ($id: ID!) { likeNote(input: { noteId: $id }) { changed } }", token, { id });
    }
    await visitor.waitForCount(id, "Like", before + 12);
    assert.equal(await visitor.page.evaluate(() => window.shift), whileLoading);
  });
}

test("the first page loads less than 150 kB with gzip", async () => {
  const visitor = await openVisitor();
  await visitor.goTo("/");
  await visitor.notes();
  await visitor.page.waitForLoadState("load");
  const loaded = await visitor.page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .map(({ name }) => new URL(name).pathname)
      .filter((path) => path.startsWith("/assets/")),
  );
  const sizes = await Promise.all(["/", ...new Set(loaded)].map(async (path) => [path, await gzipped(path)]));
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  assert.ok(total < MAX_BYTES, `${total} bytes: ${JSON.stringify(Object.fromEntries(sizes))}`);
});

/** Size of a response body as transferred, in bytes. */
function gzipped(path) {
  return new Promise((resolve, reject) => {
    get(`${baseUrl}${path}`, { headers: { "Accept-Encoding": "gzip" } }, (response) => {
      assert.equal(response.headers["content-encoding"] ?? "gzip", "gzip");
      let size = 0;
      response.on("data", (chunk) => (size += chunk.length)).on("end", () => resolve(size));
    }).on("error", reject);
  });
}
