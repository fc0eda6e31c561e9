// Notes that a person decides about: what the author, a reader and the operator's page show.

import assert from "node:assert/strict";
import { test } from "node:test";
import { newName } from "./test_data.js";
import { undecidedServerForTests } from "./undecided_server.js";
import { screens, visitorsForTests } from "./visitor.js";

const openVisitor = visitorsForTests();
const started = undecidedServerForTests(["--moderate-notes"]);

/** Posts a note on the feed and returns its card. */
async function post({ page }, title) {
  await page.getByRole("button", { name: "What is on your mind?" }).click();
  const form = page.getByRole("form", { name: "New note" });
  await form.getByLabel("Title").fill(title);
  await form.getByLabel("Text").fill("Some words.");
  await form.getByRole("button", { name: "Post", exact: true }).click();
  const card = page.locator("article[data-note]").filter({ hasText: title });
  await card.waitFor();
  return card;
}

for (const [name, screen] of Object.entries(screens)) {
  test(`on a ${name}, notes wait for a person, and so do edits, and only the author sees them until then`, async () => {
    const { origin } = started.server;
    const author = await openVisitor({ user: newName("author"), origin, screen });
    await author.goTo("/", { live: false });
    const operator = await openVisitor({ origin, screen });
    await operator.goTo("/admin", { live: false });
    const queue = operator.page.getByRole("list", { name: "What waits for a person" });
    const pending = (text) => queue.getByRole("listitem").filter({ hasText: text });
    const good = newName("Good");
    const poor = newName("Poor");

    const card = await post(author, good);
    await card.getByText("Waiting for approval").waitFor();
    assert.equal(await card.getByRole("button", { name: /^Like/ }).count(), 0);
    await pending(good).getByRole("button", { name: /^Approve/ }).click();
    await card.getByRole("button", { name: /^Like/ }).waitFor();
    const reader = await openVisitor({ user: newName("reader"), origin, screen });
    await reader.goTo("/");
    await reader.page.getByRole("heading", { name: good }).waitFor();

    const refused = await post(author, poor);
    await pending(poor).getByRole("button", { name: /^Reject/ }).click();
    await pending(poor).getByLabel("Reason, shown to the author").fill("Too short.");
    await pending(poor).getByRole("button", { name: "Reject", exact: true }).click();
    await refused.getByText("Not published: Too short.").waitFor();
    await author.goTo("/user/me", { live: false });
    const unpublished = author.page.getByRole("region", { name: "Your notes that others do not see" });
    await unpublished.getByText("Not published: Too short.").waitFor();

    await author.page.getByRole("heading", { name: good }).click();
    await author.page.getByRole("button", { name: "Edit this note" }).click();
    const form = author.page.getByRole("form", { name: "Edit the note" });
    await form.getByLabel("Title").fill(`${good} and new`);
    await form.getByRole("button", { name: "Save" }).click();
    await author.page.getByText("New text: waiting for approval").waitFor();
    await pending(`${good} and new`).getByText(`Edited. Everybody sees: ${good}`).waitFor();
    await pending(`${good} and new`).getByRole("button", { name: /^Approve/ }).click();
    await author.page.getByRole("heading", { name: `${good} and new` }).waitFor();
    await author.page.getByText("waiting for approval").waitFor({ state: "detached" });
    await operator.page.getByText("Nothing waits for a person.").waitFor();
  });
}
