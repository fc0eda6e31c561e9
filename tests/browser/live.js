// Helpers for two users side by side, storms, and the drawer.

/** One of the two users of `/two`: the verbs of a visitor, within that side. */
export function sideOf(visitor, name) {
  const side = Object.create(visitor);
  side.page = visitor.page.getByRole("region", { name: new RegExp(`^${name} side`) });
  return side;
}

/** Both sides of `/two`, live and with the same feed. */
export async function goSideBySide(visitor) {
  await visitor.goTo("/two");
  const [left, right] = [sideOf(visitor, "Left"), sideOf(visitor, "Right")];
  await Promise.all([left.seeLive(), right.seeLive(), left.notes(), right.notes()]);
  return { left, right };
}

/** What `/two` has measured: a bar for each action, and the last one in milliseconds. */
export function delays(visitor) {
  const panel = visitor.page.getByRole("region", { name: "Delay" });
  return {
    see: (count) => panel.locator("rect").nth(count - 1).waitFor(),
    last: async () => Number(/^(\d+) ms$/.exec(await panel.getByRole("status").innerText())?.[1]),
  };
}

/** Presses a switch with a number; returns the number that this makes. */
export async function turn(visitor, noteId, label) {
  const button = visitor.button(noteId, label);
  const isOn = (await button.getAttribute("aria-pressed")) === "true";
  const moved = (await visitor.count(noteId, label)) + (isOn ? -1 : 1);
  await button.click();
  await visitor.see(noteId, label, moved);
  return moved;
}

/** Answers like a production server, which hands out no sessions. */
export async function denySessions(visitor) {
  await visitor.context.route("**/dev/*", (route) => route.fulfill({ status: 404 }));
}

/** Ignores the browser's console errors about missing addresses, which these tests expect. */
export function forgiveDenials(visitor) {
  const ofDenial = /status of 404 .*\/dev\//;
  visitor.offences.splice(0, Infinity, ...visitor.offences.filter((offence) => !ofDenial.test(offence)));
}

/** Storms that this page begins are small, and act on one note: nobody else's numbers move. */
export async function keepStormsSmall(visitor, noteId, seconds) {
  await visitor.context.route("**/dev/storm", (route) =>
    route.continue({ postData: JSON.stringify({ users: 20, seconds: seconds.shift(), noteIds: [noteId] }) }),
  );
}

/** The drawer. */
export class Drawer {
  constructor({ page }) {
    this.page = page;
    this.panel = page.getByRole("complementary", { name: "Behind the curtain" });
  }

  async open() {
    await this.page.getByRole("button", { name: "Behind the curtain" }).click();
    await this.panel.waitFor();
  }

  /** Chooses or presses what has that name: `Frames`, `Pause`, a user of `/two`. */
  press(name) {
    return this.panel.getByRole("button", { name, exact: true }).click();
  }

  /** Lines with this text, the newest first. */
  rows(text) {
    return this.panel.getByRole("listitem").filter({ hasText: text });
  }

  /** Opens the newest line with this text. */
  async unfold(text) {
    const row = this.rows(text).first();
    await row.getByRole("button").first().click();
    return row;
  }
}
