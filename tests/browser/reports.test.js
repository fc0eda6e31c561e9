// Reports by users, and what moderators do about them and their authors.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { NoteComments } from "./note_comments.js";
import { comment, createNote, newName } from "./test_data.js";
import { screens, visitorsForTests } from "./visitor.js";

const openVisitor = visitorsForTests();

/** Opens a page of the app as a moderator. */
async function openModerator(path, screen) {
  const moderator = await openVisitor({ screen, user: "moderator" });
  await moderator.context.addInitScript(() => sessionStorage.setItem("plaudit.role", "moderator"));
  await moderator.goTo(path);
  return moderator;
}

for (const [name, screen] of Object.entries(screens)) {
  describe(`on a ${name}`, () => {
    test("reported notes and comments are listed for moderators, whose decision shows on open pages", async () => {
      const [author, writer] = [newName("author"), newName("writer")];
      const note = await createNote(author);
      await comment(writer, note.id, "Buy now!");
      const reader = await NoteComments.open(await openVisitor({ screen, user: newName("reader") }), note.id);
      const dialog = (what) => reader.page.getByRole("dialog", { name: `Report this ${what}` });

      await reader.page.getByRole("button", { name: "Report this note" }).click();
      await dialog("note").getByLabel("Why?").selectOption("False information");
      await dialog("note").getByRole("button", { name: "Report", exact: true }).click();
      await reader.page.getByText("Thank you. Moderators will look at it.").waitFor();
      await reader.comment("Buy now!").getByRole("button", { name: "Report this comment" }).click();
      await dialog("comment").getByLabel("More about it, if you like").fill("It is an advertisement.");
      await dialog("comment").getByRole("button", { name: "Report", exact: true }).click();
      await dialog("comment").waitFor({ state: "detached" });

      const moderator = await openVisitor({ screen });
      await moderator.goTo("/admin", { live: false });
      const reported = (what, by) => moderator.page.getByRole("listitem", { name: `Reported ${what} by ${by}` });
      await reported("note", author).getByText("1 report: False information (1)").waitFor();
      await reported("comment", writer).getByText("It is an advertisement.").waitFor();
      await reported("note", author).getByRole("button", { name: /^Keep/ }).click();
      await reported("note", author).waitFor({ state: "detached" });
      await reported("comment", writer).getByRole("button", { name: /^Remove the comment/ }).click();
      await reported("comment", writer).waitFor({ state: "detached" });
      await reader.comment("Buy now!").waitFor({ state: "detached" });
      await reader.waitForCount(0);
      await reader.page.getByRole("heading", { name: note.title }).waitFor();
    });

    test("a suspended user is told until when and why, and can act again once it is lifted", async () => {
      const user = newName("loud");
      const note = await createNote(user);
      const visitor = await openVisitor({ screen, user });
      await visitor.goTo("/");
      const moderator = await openModerator(`/user/${note.authorId}`, screen);
      await moderator.page.getByRole("button", { name: `Suspend ${user}` }).click();
      const dialog = moderator.page.getByRole("dialog", { name: `Suspend ${user}?` });
      await dialog.getByLabel("Reason, shown to the user").fill("Too loud.");
      await dialog.getByRole("button", { name: "1 week" }).click();
      await moderator.page.getByText("Suspended until").waitFor();

      const id = (await visitor.notes())[0];
      const isLiked = await visitor.button(id, "Like").getAttribute("aria-pressed");
      await visitor.button(id, "Like").click();
      await visitor.page.getByText("Your account is suspended; this was refused.").waitFor();
      await visitor.page.getByText("Your account is suspended until").waitFor();
      await visitor.page.getByText("Reason: Too loud.").waitFor();
      assert.equal(await visitor.button(id, "Like").getAttribute("aria-pressed"), isLiked);
      await visitor.page.reload();
      await visitor.page.getByText("Reason: Too loud.").waitFor();

      await moderator.page.getByRole("button", { name: `Lift the suspension of ${user}` }).click();
      await moderator.page.getByRole("button", { name: `Suspend ${user}` }).waitFor();
      await visitor.page.reload();
      await visitor.toggle(id, "Like");
      assert.equal(await visitor.page.getByText("Your account is suspended").count(), 0);
    });
  });
}

test("a hidden user's note is gone for others until the user is shown again", async () => {
  const user = newName("hidden");
  const note = await createNote(user);
  const reader = await openVisitor({ user: newName("reader") });
  const moderator = await openModerator(`/user/${note.authorId}`);
  const hide = moderator.page.getByRole("button", { name: `Hide ${user}`, exact: true });
  await hide.click();
  await moderator.page.getByRole("dialog").getByRole("button", { name: "Hide", exact: true }).click();
  const show = moderator.page.getByRole("button", { name: `Show ${user} again` });
  await show.waitFor();
  await reader.goTo(`/note/${note.id}`);
  const gone = reader.page.getByText("There is no such note.");
  const heading = reader.page.getByRole("heading", { name: note.title });
  // Notes follow in the background, and the page does not ask again by itself.
  const reloadUntil = async (expected) => {
    await gone.or(heading).waitFor();
    while (!(await expected.isVisible())) {
      await reader.page.reload();
      await gone.or(heading).waitFor();
    }
  };
  await reloadUntil(gone);

  await show.click();
  await hide.waitFor();
  await reader.page.reload();
  await reloadUntil(heading);
});
