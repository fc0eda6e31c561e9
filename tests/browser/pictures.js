// Takes the screenshots in README.md from a server with demo data: `make pictures`.

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { baseUrl, developmentToken, launchBrowser, send } from "./browser.js";
import { Visitor, screens } from "./visitor.js";

const folder = fileURLToPath(new URL("../../docs/pictures/", import.meta.url));
mkdirSync(folder, { recursive: true });

/** README.md shows the pictures at half their size, so that they are sharp on dense screens. */
const desktop = { viewport: { width: 1280, height: 800 }, deviceScaleFactor: 0.7 };
const phone = { ...screens.phone, viewport: { width: 390, height: 780 }, deviceScaleFactor: 1 };

const browser = await launchBrowser();
const { hotNotes } = await send(
  "{ hotNotes(first: 1, orderBy: ALL) { nodes { id author { id } } } }",
  await developmentToken(),
);
const [note] = hotNotes.nodes;

/** Opens a page, waits for `ready` and takes the screenshot. */
async function take(name, path, { screen = desktop, colorScheme = "light", ready }) {
  const visitor = await Visitor.open(browser, { screen, colorScheme });
  await visitor.goTo(path, { live: false });
  await ready(visitor.page, visitor);
  await visitor.page.waitForLoadState("networkidle");
  await visitor.page.screenshot({ path: `${folder}${name}.jpg`, type: "jpeg", quality: 72, animations: "disabled" });
  await visitor.close();
  console.log(`docs/pictures/${name}.jpg`);
}

const cards = (page) => page.locator("article[data-note]").first().waitFor();
const dark = { screen: phone, colorScheme: "dark" };
const light = { screen: phone };

await take("feed", "/", { ready: cards });
await take("note", `/note/${note.id}`, { ...dark, ready: (page) => page.getByText("Reply").first().waitFor() });
await take("profile", `/user/${note.author.id}`, { ...light, ready: cards });
await take("groups", "/groups", { ...dark, ready: (page) => page.getByText("members").first().waitFor() });
await take("inbox", "/inbox", { ...light, ready: (page) => page.getByText(/follows? you/).first().waitFor() });
await take("hot", "/hot", { ...dark, ready: cards });
await take("likes", "/likes", { ...light, ready: cards });
await take("drawer", "/", {
  colorScheme: "dark",
  ready: async (page, visitor) => {
    await cards(page);
    await visitor.waitUntilLive();
    await page.keyboard.press("Control+.");
    const [id] = await visitor.notes();
    await visitor.button(id, "Like").click();
    await page.getByRole("complementary").getByText("LikeNote").first().click();
  },
});
await take("two", "/two", {
  ready: async (page) => {
    const like = page.getByRole("button", { name: /^Like/ });
    await like.nth(1).waitFor();
    // The first note of both sides is the same, so each click changes both counts.
    for (const side of [0, 1, 0, 1]) {
      const sides = page.getByRole("region").filter({ has: like });
      const other = sides.nth(1 - side).getByRole("button", { name: /^Like/ }).first();
      const before = await other.getAttribute("aria-label");
      await sides.nth(side).getByRole("button", { name: /^Like/ }).first().click();
      await page.waitForFunction(([button, label]) => button.ariaLabel !== label, [await other.elementHandle(), before]);
    }
  },
});
await take("admin", "/admin", {
  ready: async (page) => {
    await page.getByText("likes/s").first().waitFor();
    const storm = await fetch(`${baseUrl}/dev/storm`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ users: 200, seconds: 15 }),
    });
    await storm.text();
  },
});
await take("graphiql", "/graphiql", {
  colorScheme: "dark",
  ready: async (page) => {
    await page.locator(".graphiql-query-editor .view-line").first().waitFor();
    await page.getByRole("button", { name: "Execute query" }).click();
    await page.getByText("likeCount").nth(1).waitFor();
  },
});
await browser.close();
