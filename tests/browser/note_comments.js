// Helpers for the comments below a note.

/** The comments on a note page that a visitor has open. */
export class NoteComments {
  static async open(visitor, noteId) {
    await visitor.goTo(`/note/${noteId}`);
    const comments = new NoteComments();
    comments.page = visitor.page;
    await comments.page.getByRole("heading", { name: /^Comments/ }).waitFor();
    return comments;
  }

  /** The text field for a comment on the note itself. */
  get composer() {
    return this.page.getByLabel("Add a comment");
  }

  async post(text) {
    await this.composer.fill(text);
    await this.page.getByRole("button", { name: "Comment", exact: true }).click();
  }

  async reply(text, replyText) {
    await this.comment(text).getByRole("button", { name: "Reply", exact: true }).click();
    const composer = this.page.getByLabel(/^Reply to/);
    await composer.fill(replyText);
    const form = this.page.locator("form").filter({ has: composer });
    await form.getByRole("button", { name: "Reply", exact: true }).click();
  }

  /** A comment or a reply by its text: the innermost element that contains it. */
  comment(text) {
    return this.page.locator("article[data-comment]").filter({ hasText: text }).last();
  }

  /** Waits until both counters of the note's comments show `count`. */
  async waitForCount(count) {
    const selector = `[data-count="${count}"]`;
    await this.page.getByRole("heading", { name: /^Comments/ }).locator(selector).waitFor();
    await this.page.getByRole("link", { name: `Comments: ${count}`, exact: true }).locator(selector).waitFor();
  }

  /** The like button of a comment that has `count` likes. */
  likeButton(text, count) {
    return this.comment(text).getByRole("button", { name: `Like: ${count} likes` });
  }
}
