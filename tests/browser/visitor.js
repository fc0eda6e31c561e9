// Verbs for driving the demo app, as a visitor does.

import { after, afterEach, before } from "node:test";
import { assertWellBehaved, baseUrl, launchBrowser, observe, openContext } from "./browser.js";

/** Screen sizes. */
export const screens = {
  desktop: { viewport: { width: 1280, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
};

/** Somebody with a browser window: `user` names whom the page acts as. */
export class Visitor {
  static async arrive(browser, { user = "mira.okafor", screen = screens.desktop, origin = baseUrl, ...more } = {}) {
    const context = await openContext(browser, { ...screen, ...more, baseURL: origin });
    await context.addInitScript((user) => {
      if (location.protocol.startsWith("http")) sessionStorage.setItem("plaudit.user", user);
    }, user);
    const visitor = new Visitor();
    visitor.context = context;
    visitor.offences = observe(context, origin);
    visitor.page = await context.newPage();
    return visitor;
  }

  /** Goes to an address; until the page is live where it is to be. */
  async goTo(path, { live = true } = {}) {
    await this.page.goto(path);
    if (live) await this.seeLive();
  }

  seeLive() {
    return this.page.locator('[data-state="open"]').first().waitFor();
  }

  /** A note in a list, by its id. */
  card(noteId) {
    return this.page.locator(`article[data-note="${noteId}"]`);
  }

  /** Ids of the notes in the list. */
  async notes() {
    await this.page.locator("article[data-note]").first().waitFor();
    return this.page.locator("article[data-note]").evaluateAll((cards) => cards.map((card) => card.dataset.note));
  }

  /** The button of a note by what it does: `Like`, `Collect`. */
  button(noteId, label) {
    return this.card(noteId).getByRole("button", { name: new RegExp(`^${label}`) });
  }

  /** The number on it. */
  async count(noteId, label) {
    return Number(await this.button(noteId, label).locator("[data-count]").getAttribute("data-count"));
  }

  /** Until that number is `count`. */
  async see(noteId, label, count) {
    await this.button(noteId, label).locator(`[data-count="${count}"]`).waitFor();
  }

  /** Ignores the browser's console errors about failed connections, which these tests expect. */
  forgiveConnections() {
    const ofNetwork = /net::ERR_|WebSocket connection to/;
    this.offences.splice(0, Infinity, ...this.offences.filter((offence) => !ofNetwork.test(offence)));
  }

  leave() {
    return this.context.close();
  }
}

/**
 * Starts a browser for the tests of a file. The returned function opens a visitor, who is closed after the test;
 * then its pages must have behaved well.
 */
export function openDoors() {
  const present = [];
  let browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());
  afterEach(async () => {
    const leaving = present.splice(0);
    for (const visitor of leaving) await visitor.leave();
    for (const visitor of leaving) assertWellBehaved(visitor.offences);
  });
  return async (options) => {
    const visitor = await Visitor.arrive(browser, options);
    present.push(visitor);
    return visitor;
  };
}
