// Moderation by a person: what the admin page and the author's page show of a pending comment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createNote, newName } from "./test_data.js";
import { NoteComments } from "./note_comments.js";
import { undecidedServerForTests } from "./undecided_server.js";
import { visitorsForTests } from "./visitor.js";

const openVisitor = visitorsForTests();
const started = undecidedServerForTests();

test("pending comments appear on the admin page, and its decisions appear on the author's page", async () => {
  const { origin } = started.server;
  const { id } = await createNote(newName("author"), origin);
  const writer = await openVisitor({ user: newName("writer"), origin });
  const comments = await NoteComments.open(writer, id);
  const reader = await NoteComments.open(await openVisitor({ user: newName("reader"), origin }), id);
  const operator = await openVisitor({ origin });
  await operator.goTo("/admin", { live: false });
  const queue = operator.page.getByRole("list", { name: "What waits for a person" });
  await operator.page.getByText("Nothing waits for a person.").waitFor();

  for (const text of ["Harmless.", "Harmful."]) {
    await comments.post(text);
    await comments.comment(text).getByText("Waiting for approval").waitFor();
    await queue.getByRole("listitem").filter({ hasText: text }).getByText("not a valid verdict").waitFor();
  }
  await comments.waitForCount(0);
  assert.equal(await reader.comment("Harm").count(), 0);

  const pending = (text) => queue.getByRole("listitem").filter({ hasText: text });
  await pending("Harmless.").getByRole("button", { name: /^Approve/ }).click();
  await pending("Harmless.").waitFor({ state: "detached" });
  await comments.likeButton("Harmless.", 0).waitFor();
  await comments.waitForCount(1);
  await reader.waitForCount(1);
  await reader.comment("Harmless.").waitFor();

  await pending("Harmful.").getByRole("button", { name: /^Reject/ }).click();
  await pending("Harmful.").getByLabel("Reason, shown to the author").fill("Be kind.");
  await pending("Harmful.").getByRole("button", { name: "Reject", exact: true }).click();
  await pending("Harmful.").waitFor({ state: "detached" });
  await operator.page.getByText("Nothing waits for a person.").waitFor();
  // The author's page only polls for a rejection, at growing intervals.
  await writer.page.reload();
  await comments.comment("Harmful.").getByText("Not published: Be kind.").waitFor();
  await comments.waitForCount(1);
  assert.equal(await reader.comment("Harmful.").count(), 0);

  await operator.page.reload();
  await operator.page.getByText("Nothing waits for a person.").waitFor();
});

test("an edit of a published comment waits for a person, and until then others see the old text", async () => {
  const { origin } = started.server;
  const { id } = await createNote(newName("author"), origin);
  const comments = await NoteComments.open(await openVisitor({ user: newName("writer"), origin }), id);
  const reader = await NoteComments.open(await openVisitor({ user: newName("reader"), origin }), id);
  const operator = await openVisitor({ origin });
  await operator.goTo("/admin", { live: false });
  const queue = operator.page.getByRole("list", { name: "What waits for a person" });
  const approve = (text) => queue.getByRole("listitem").filter({ hasText: text }).getByRole("button", { name: /^Approve/ });
  await comments.post("Old text.");
  await approve("Old text.").click();
  await reader.comment("Old text.").waitFor();

  await comments.comment("Old text.").getByRole("button", { name: "Edit this comment" }).click();
  await comments.page.getByRole("form", { name: "Edit the comment" }).getByLabel("Text").fill("New text.");
  await comments.page.getByRole("button", { name: "Save" }).click();
  await comments.comment("Old text.").getByText("New text: waiting for approval").waitFor();
  await queue.getByText("Edited. Everybody sees: Old text.").waitFor();
  assert.equal(await reader.comment("New text.").count(), 0);

  await approve("New text.").click();
  await reader.comment("New text.").getByText("edited", { exact: true }).waitFor();
  await comments.comment("New text.").getByText("edited", { exact: true }).waitFor();
  // The event says that the comment was edited, and then the page reads it.
  await comments.page.getByText("waiting for approval").waitFor({ state: "detached" });
});
