// Two users side by side, and storms.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { delays, disableDevelopmentRoutes, ignoreNotFoundErrors, limitStorms, openSideBySide } from "./side_by_side.js";
import { screens, visitorsForTests } from "./visitor.js";

const openVisitor = visitorsForTests();

/** Highest delay of a live update, in milliseconds; after it the page stops waiting for the event. */
const MAX_DELAY_MS = 10_000;

for (const [name, screen] of Object.entries(screens)) {
  describe(`on a ${name}`, () => {
    test("a like or collect on one side updates the other, and the delay is shown in milliseconds", async () => {
      const visitor = await openVisitor({ screen });
      const { left, right } = await openSideBySide(visitor);
      const measured = delays(visitor);
      const id = (await left.notes())[3];
      for (const side of [left, right]) await side.card(id).scrollIntoViewIfNeeded();

      let actions = 0;
      for (const label of ["Like", "Collect"]) {
        for (const [acting, watching] of [
          [left, right],
          [right, left],
        ]) {
          await watching.waitForCount(id, label, await acting.toggle(id, label));
          await measured.waitForActions(++actions);
          const last = await measured.last();
          assert.ok(last > 0 && last < MAX_DELAY_MS, `${last} ms`);
        }
      }
    });

    test("a follow on one side updates the follower count on the other, and its delay is measured", async () => {
      const visitor = await openVisitor({ screen });
      const { left, right } = await openSideBySide(visitor);
      const name = await otherAuthor(left);
      for (const { page } of [left, right]) {
        await page.getByRole("link", { name, exact: true }).first().click();
        await page.getByRole("heading", { name, level: 2 }).waitFor();
      }

      const followers = (side) => side.page.getByRole("button", { name: /^Followers/ }).locator("[data-count]");
      const follow = left.page.getByRole("region", { name: "About" }).getByRole("button", { name });
      for (const actions of [1, 2]) {
        const isOn = (await follow.getAttribute("aria-pressed")) === "true";
        const changedCount = Number(await followers(right).getAttribute("data-count")) + (isOn ? -1 : 1);
        await follow.click();
        const button = right.page.getByRole("button", { name: /^Followers/ });
        await button.locator(`[data-count="${changedCount}"]`).waitFor();
        await delays(visitor).waitForActions(actions);
      }
    });

    test("each side navigates on its own, and the page around them keeps its address and scroll position", async () => {
      const visitor = await openVisitor({ screen });
      const { left, right } = await openSideBySide(visitor);
      const id = (await left.notes())[1];
      await visitor.page.evaluate(() => scrollTo(0, 40));
      const scrollPosition = await visitor.page.evaluate(() => scrollY);
      const heightInScreens = await visitor.page.evaluate(() => document.documentElement.scrollHeight / innerHeight);
      assert.ok(heightInScreens < 1.5, `the page is ${heightInScreens} screens long; only its sides scroll`);

      await left.card(id).getByRole("heading").click();
      await left.page.getByRole("heading", { name: /^Note by/ }).waitFor();
      await left.card(id).getByRole("link").first().click();
      await left.page.getByRole("region", { name: "About" }).waitFor();
      assert.equal(await right.page.getByRole("heading", { level: 1 }).innerText(), "Home");

      await left.page.getByRole("button", { name: "Back" }).click();
      await left.page.getByRole("heading", { name: /^Note by/ }).waitFor();
      await left.page.getByRole("button", { name: "Back" }).click();
      await left.card(id).waitFor();
      assert.equal(new URL(visitor.page.url()).pathname, "/two");
      assert.equal(await visitor.page.evaluate(() => scrollY), scrollPosition);

      await right.page.getByLabel("Who is on the right").selectOption("nomsa.phiri");
      await visitor.page.getByRole("region", { name: "Right side, nomsa.phiri" }).waitFor();
      await left.card(id).waitFor();
    });

    test("a storm changes counts and shows its rate until it is stopped, and then another can be started", async () => {
      const visitor = await openVisitor({ screen });
      const { left } = await openSideBySide(visitor);
      const id = (await left.notes())[15];
      await left.card(id).scrollIntoViewIfNeeded();
      await limitStorms(visitor, id, [20, 1]);

      const panel = visitor.page.getByRole("region", { name: "Run a storm" });
      const before = await counts(left, id);
      await panel.getByRole("button", { name: "Start" }).click();
      await panel.locator("strong", { hasText: /^[1-9]/ }).waitFor();
      await panel.getByRole("img", { name: /^Actions per second: \d+ now, [1-9]\d* at most/ }).waitFor();
      await left.card(id).locator(`[data-count]:not(${before.map((count) => `[data-count="${count}"]`)})`).first().waitFor();

      await panel.getByRole("button", { name: "Stop" }).click();
      await panel.getByRole("status").getByText(/^[\d,]+ actions, none failed\.$/).waitFor();
      await panel.getByRole("button", { name: "Run again" }).click();
      await panel.getByRole("button", { name: "Stop" }).waitFor();
      await panel.getByRole("status").getByText(/^[\d,]+ actions, none failed\.$/).waitFor();
    });
  });
}

/** Name of an author in the feed who is on neither side, because users cannot follow themselves. */
async function otherAuthor(side) {
  const links = await side.page.locator('article[data-note] a[href^="/user/"]').allInnerTexts();
  return links.find((name) => !/^(Mira|Freya)/.test(name));
}

/** Likes, comments, collects and views of a note. */
function counts(visitor, id) {
  return visitor
    .card(id)
    .locator("[data-count]")
    .evaluateAll((all) => all.map(({ dataset }) => dataset.count));
}

test("without development routes there are no storms, and the side-by-side page says what it needs", async () => {
  const visitor = await openVisitor();
  await disableDevelopmentRoutes(visitor);
  const notFound = visitor.page.waitForResponse("**/dev/users");
  await visitor.goTo("/");
  await visitor.notes();
  await notFound;
  assert.equal(await visitor.page.getByText("Run a storm").count(), 0);

  await visitor.goTo("/two", { live: false });
  await visitor.page.getByText("This page needs a development server.").waitFor();
  assert.equal(await visitor.page.getByText("Run a storm").count(), 0);
  ignoreNotFoundErrors(visitor);
});
