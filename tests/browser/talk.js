// Helpers for the comments below a note.

/** The comments on a note page that a visitor has open. */
export class Talk {
  static async open(visitor, noteId) {
    await visitor.goTo(`/note/${noteId}`);
    const talk = new Talk();
    talk.page = visitor.page;
    await talk.page.getByRole("heading", { name: /^Comments/ }).waitFor();
    return talk;
  }

  /** Where a comment on the note itself is written. */
  get composer() {
    return this.page.getByLabel("Add a comment");
  }

  async say(text) {
    await this.composer.fill(text);
    await this.page.getByRole("button", { name: "Comment", exact: true }).click();
  }

  async answer(text, reply) {
    await this.comment(text).getByRole("button", { name: "Reply", exact: true }).click();
    const composer = this.page.getByLabel(/^Reply to/);
    await composer.fill(reply);
    const form = this.page.locator("form").filter({ has: composer });
    await form.getByRole("button", { name: "Reply", exact: true }).click();
  }

  /** A comment or a reply by its text: the innermost that has it. */
  comment(text) {
    return this.page.locator("article[data-comment]").filter({ hasText: text }).last();
  }

  /** Until the note's comments are `count`, in both places that say so. */
  async seeCount(count) {
    const counted = `[data-count="${count}"]`;
    await this.page.getByRole("heading", { name: /^Comments/ }).locator(counted).waitFor();
    await this.page.getByRole("link", { name: `Comments: ${count}`, exact: true }).locator(counted).waitFor();
  }

  /** Until the likes of a comment are `count`. */
  likes(text, count) {
    return this.comment(text).getByRole("button", { name: `Like: ${count} likes` });
  }
}
