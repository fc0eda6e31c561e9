// Helpers that drive the demo app as its user does.

import { after, afterEach, before } from "node:test";
import { assertNoProblems, baseUrl, launchBrowser, openContext, recordProblems } from "./browser.js";

/** Screen sizes. */
export const screens = {
  desktop: { viewport: { width: 1280, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
};

/** A browser window that is signed in as `user`. */
export class Visitor {
  static async open(browser, { user = "mira.okafor", screen = screens.desktop, origin = baseUrl, ...more } = {}) {
    const context = await openContext(browser, { ...screen, ...more, baseURL: origin });
    await context.addInitScript((user) => {
      if (location.protocol.startsWith("http")) sessionStorage.setItem("plaudit.user", user);
    }, user);
    const visitor = new Visitor();
    visitor.context = context;
    visitor.problems = recordProblems(context, origin);
    visitor.page = await context.newPage();
    return visitor;
  }

  /** Opens a path and, with `live`, waits until the page has its WebSocket. */
  async goTo(path, { live = true } = {}) {
    await this.page.goto(path);
    if (live) await this.waitUntilLive();
  }

  waitUntilLive() {
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

  /** A button of a note: `Like`, `Collect`. */
  button(noteId, label) {
    return this.card(noteId).getByRole("button", { name: new RegExp(`^${label}`) });
  }

  /** The count on that button. */
  async count(noteId, label) {
    return Number(await this.button(noteId, label).locator("[data-count]").getAttribute("data-count"));
  }

  /** Waits until that count is `count`. */
  async waitForCount(noteId, label, count) {
    await this.button(noteId, label).locator(`[data-count="${count}"]`).waitFor();
  }

  /** Clicks `Like` or `Collect` of a note and waits for the new count, which it returns. */
  async toggle(noteId, label) {
    const button = this.button(noteId, label);
    const isOn = (await button.getAttribute("aria-pressed")) === "true";
    const newCount = (await this.count(noteId, label)) + (isOn ? -1 : 1);
    await button.click();
    await this.waitForCount(noteId, label, newCount);
    return newCount;
  }

  /** Ignores the browser's console errors about failed connections, which these tests expect. */
  ignoreConnectionErrors() {
    const networkError = /net::ERR_|WebSocket connection to/;
    this.problems.splice(0, Infinity, ...this.problems.filter((problem) => !networkError.test(problem)));
  }

  close() {
    return this.context.close();
  }
}

/**
 * Stands between a page and its socket; call it before the page opens. `onSent` gets each message of the page, and sends
 * it on with `forward()`, or answers it with `reply(message)`.
 */
export async function interceptSocket({ context }, onSent) {
  await context.routeWebSocket(/\/graphql\/ws$/, (page) => {
    const server = page.connectToServer();
    page.onMessage((text) => {
      const forward = () => server.send(text);
      const reply = (message) => page.send(JSON.stringify(message));
      onSent(JSON.parse(text), { forward, reply });
    });
  });
}

/**
 * Starts a browser for the tests of a file. The returned function opens a visitor; after the test all visitors are
 * closed, and the test fails if their pages had problems.
 */
export function visitorsForTests() {
  const open = [];
  let browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());
  afterEach(async () => {
    const visitors = open.splice(0);
    for (const visitor of visitors) await visitor.close();
    for (const visitor of visitors) assertNoProblems(visitor.problems);
  });
  return async (options) => {
    const visitor = await Visitor.open(browser, options);
    open.push(visitor);
    return visitor;
  };
}
