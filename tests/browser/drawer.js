/** The drawer that shows the page's operations and WebSocket frames. */
export class Drawer {
  constructor({ page }) {
    this.page = page;
    this.panel = page.getByRole("complementary", { name: "Network traffic" });
  }

  async open() {
    await this.page.getByRole("button", { name: "Network traffic" }).click();
    await this.panel.waitFor();
  }

  /** Clicks the button of that name: `Frames`, `Pause`, or a user of `/two`. */
  press(name) {
    return this.panel.getByRole("button", { name, exact: true }).click();
  }

  /** Rows with this text, newest first. */
  rows(text) {
    return this.panel.getByRole("listitem").filter({ hasText: text });
  }

  /** Expands the newest row with this text. */
  async expand(text) {
    const row = this.rows(text).first();
    await row.getByRole("button").first().click();
    return row;
  }
}
