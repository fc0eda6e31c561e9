// Two users side by side, and storms.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { delays, denySessions, forgiveDenials, goSideBySide, keepStormsSmall, turn } from "./live.js";
import { openDoors, screens } from "./visitor.js";

const arrive = openDoors();

/** Longest delay of a live update: after it the page gives up on an event. */
const LONGEST_MS = 10_000;

for (const [name, screen] of Object.entries(screens)) {
  describe(`on a ${name}`, () => {
    test("what one side likes or collects moves the other, and the delay is shown in milliseconds", async () => {
      const visitor = await arrive({ screen });
      const { left, right } = await goSideBySide(visitor);
      const measured = delays(visitor);
      const id = (await left.notes())[3];
      for (const side of [left, right]) await side.card(id).scrollIntoViewIfNeeded();

      let actions = 0;
      for (const label of ["Like", "Collect"]) {
        for (const [acting, watching] of [
          [left, right],
          [right, left],
        ]) {
          await watching.see(id, label, await turn(acting, id, label));
          await measured.see(++actions);
          const last = await measured.last();
          assert.ok(last > 0 && last < LONGEST_MS, `${last} ms`);
        }
      }
    });

    test("who is followed on one side has one more follower on the other, and that is measured too", async () => {
      const visitor = await arrive({ screen });
      const { left, right } = await goSideBySide(visitor);
      const name = await authorWhoIsNeither(left);
      for (const { page } of [left, right]) {
        await page.getByRole("link", { name, exact: true }).first().click();
        await page.getByRole("heading", { name, level: 2 }).waitFor();
      }

      const followers = (side) => side.page.getByRole("button", { name: /^Followers/ }).locator("[data-count]");
      const follow = left.page.getByRole("region", { name: "About" }).getByRole("button", { name });
      for (const actions of [1, 2]) {
        const isOn = (await follow.getAttribute("aria-pressed")) === "true";
        const moved = Number(await followers(right).getAttribute("data-count")) + (isOn ? -1 : 1);
        await follow.click();
        await right.page.getByRole("button", { name: /^Followers/ }).locator(`[data-count="${moved}"]`).waitFor();
        await delays(visitor).see(actions);
      }
    });

    test("each side goes its own way and back, and the page around both stays where it is", async () => {
      const visitor = await arrive({ screen });
      const { left, right } = await goSideBySide(visitor);
      const id = (await left.notes())[1];
      await visitor.page.evaluate(() => scrollTo(0, 40));
      const place = await visitor.page.evaluate(() => scrollY);
      const length = await visitor.page.evaluate(() => document.documentElement.scrollHeight / innerHeight);
      assert.ok(length < 1.5, `the page is ${length} screens long; only its sides scroll`);

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
      assert.equal(await visitor.page.evaluate(() => scrollY), place);

      await right.page.getByLabel("Who is on the right").selectOption("nomsa.phiri");
      await visitor.page.getByRole("region", { name: "Right side, nomsa.phiri" }).waitFor();
      await left.card(id).waitFor();
    });

    test("a storm moves the numbers on the screen and tells its rate, until it is stopped; then another may begin", async () => {
      const visitor = await arrive({ screen });
      const { left } = await goSideBySide(visitor);
      const id = (await left.notes())[15];
      await left.card(id).scrollIntoViewIfNeeded();
      await keepStormsSmall(visitor, id, [20, 1]);

      const panel = visitor.page.getByRole("region", { name: "Make a storm" });
      const before = await counts(left, id);
      await panel.getByRole("button", { name: "Begin" }).click();
      await panel.locator("strong", { hasText: /^[1-9]/ }).waitFor();
      await panel.getByRole("img", { name: /^Actions per second: \d+ now, [1-9]\d* at most/ }).waitFor();
      await left.card(id).locator(`[data-count]:not(${before.map((count) => `[data-count="${count}"]`)})`).first().waitFor();

      await panel.getByRole("button", { name: "Stop" }).click();
      await panel.getByRole("status").getByText(/^[\d,]+ actions, none failed\.$/).waitFor();
      await panel.getByRole("button", { name: "Once more" }).click();
      await panel.getByRole("button", { name: "Stop" }).waitFor();
      await panel.getByRole("status").getByText(/^[\d,]+ actions, none failed\.$/).waitFor();
    });
  });
}

/** Name of somebody in the feed who is on neither side: nobody follows themselves. */
async function authorWhoIsNeither(side) {
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

test("where no sessions are handed out there is nothing of storms, and side by side says what it needs", async () => {
  const visitor = await arrive();
  await denySessions(visitor);
  const denied = visitor.page.waitForResponse("**/dev/users");
  await visitor.goTo("/");
  await visitor.notes();
  await denied;
  assert.equal(await visitor.page.getByText("Make a storm").count(), 0);

  await visitor.goTo("/two", { live: false });
  await visitor.page.getByText("This page needs a development server.").waitFor();
  assert.equal(await visitor.page.getByText("Make a storm").count(), 0);
  forgiveDenials(visitor);
});
