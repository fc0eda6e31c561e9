// The page of elements on the demo data: every element has a number, and acts.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { assertNoProblems, baseUrl, launchBrowser, openContext, recordProblems } from "./browser.js";

let browser;
before(async () => (browser = await launchBrowser()));
after(() => browser?.close());

test("every element of the page of examples shows a live number, and every button switches and switches back", async () => {
  const context = await openContext(browser, { baseURL: baseUrl });
  const problems = recordProblems(context);
  const page = await context.newPage();
  await page.goto("/elements");
  const buttons = await page.locator("main button").all();
  assert.equal(buttons.length, 6);
  for (const button of buttons) {
    await button.scrollIntoViewIfNeeded();
    await button.locator("[data-count]", { hasText: /^[\d,]+$/ }).waitFor();
    const before = await button.getAttribute("aria-pressed");
    for (const pressed of [before === "false", before === "true"]) {
      await button.click();
      await page.locator(`button[aria-pressed="${pressed}"]`).and(button).waitFor();
    }
  }
  for (const count of await page.locator("plaudit-count").all()) await page.locator("plaudit-count", { hasText: /^[\d,.]+$|^–$/ }).and(count).waitFor();
  assert.equal(await page.locator("#notice").innerText(), "");
  assert.equal(await page.locator("[data-error]").count(), 0);
  await context.close();
  assertNoProblems(problems);
});
