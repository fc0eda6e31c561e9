// The example app (examples/your-app) beside a running Plaudit: counts, likes, comments and live numbers by the app's
// own ids.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, afterEach, before, describe, test } from "node:test";
import { OwnServer } from "../own_server.js";
import { assertNoProblems, developmentToken, launchBrowser, openContext, recordProblems, send } from "./browser.js";
import { screens } from "./visitor.js";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const script = join(import.meta.dirname, "../../examples/your-app/server.js");
const KNOWN = "Plaudit knows the posts";

/** The process of the example app, with a database of its own. */
class App {
  #dir = mkdtempSync(join(tmpdir(), "your-app-"));
  #lines = [];
  #process;
  #waiting = [];

  constructor(plauditUrl, secret) {
    const file = join(this.#dir, "app.sqlite");
    this.env = {
      PATH: process.env.PATH,
      PORT: "0",
      PAGE_WAIT_MS: "60000", // on a busy machine, too, pages have their counts
      DATABASE_FILE: file,
      PLAUDIT_URL: plauditUrl,
      PLAUDIT_JWT_SECRET: secret,
    };
  }

  async start() {
    this.#lines = [];
    this.#process = spawn(process.execPath, [script], { env: this.env, stdio: ["ignore", "pipe", "inherit"] });
    createInterface({ input: this.#process.stdout }).on("line", (line) => {
      this.#lines.push(line);
      for (const check of this.#waiting) check();
    });
    this.origin = (await this.said("listening on ")).slice("listening on ".length);
    this.env.PORT = new URL(this.origin).port; // the same after a restart
  }

  /** Waits for a line of its output that begins with `text`. */
  said(text) {
    return new Promise((resolve) => {
      const check = () => {
        const line = this.#lines.find((line) => line.startsWith(text));
        if (line) resolve(line);
      };
      this.#waiting.push(check);
      check();
    });
  }

  async stop() {
    const exited = once(this.#process, "exit");
    this.#process.kill();
    await exited;
  }

  async dispose() {
    await this.stop();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** A browser window of the app's. */
class Reader {
  static async open(browser, origin, options = screens.desktop) {
    const reader = new Reader();
    reader.context = await openContext(browser, { ...options, baseURL: origin });
    reader.problems = recordProblems(reader.context, origin);
    reader.page = await reader.context.newPage();
    return reader;
  }

  async signIn(name) {
    await this.page.goto("/");
    await this.page.getByLabel("User").selectOption({ label: name });
    await this.page.getByRole("button", { name: "Sign in" }).click();
    await this.page.getByRole("button", { name: "Sign out" }).waitFor();
  }

  card(key) {
    return this.page.locator(`article[data-key="${key}"]`);
  }

  likeButton(key) {
    return this.card(key).getByRole("button", { name: /^Like/ });
  }

  /**
   * Waits until the post has this number of likes. A post is live while it is near the screen. Who likes sees the new
   * number at once, before Plaudit counts it, so what depends on Plaudit's count waits on another reader's page.
   */
  async waitForLikes(key, count) {
    await this.card(key).scrollIntoViewIfNeeded();
    await this.card(key)
      .locator("[data-likes]", { hasText: new RegExp(`^${count}$`) })
      .waitFor();
  }

  waitForComments(key, count) {
    return this.card(key)
      .locator("[data-comment-count]", { hasText: new RegExp(`^${count}$`) })
      .waitFor();
  }

  /** Waits until the button shows whether the viewer likes the post. */
  waitForOwnLike(key, isOn) {
    return this.card(key).locator(`button[aria-pressed="${isOn}"]`).waitFor();
  }

  keys() {
    return this.page.locator("article[data-key]").evaluateAll((cards) => cards.map((card) => card.dataset.key));
  }

  comment(body) {
    return this.page.locator("[data-comments] li", { hasText: body });
  }

  async write(body) {
    await this.page.getByLabel("Your comment").fill(body);
    await this.page.getByRole("button", { name: "Comment", exact: true }).click();
  }
}

/** The counts of posts in Plaudit, by their keys, asked as anybody may. */
async function countsInPlaudit(server, keys) {
  const query = "query ($keys: [String!]!) { notesByKey(keys: $keys) { key title url likeCount commentCount } }";
  const response = await fetch(server.graphqlUrl, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query, variables: { keys } }),
  });
  return (await response.json()).data.notesByKey;
}

describe("the example app", () => {
  const server = new OwnServer();
  const readers = [];
  let app;
  let browser;

  before(async () => {
    browser = await launchBrowser();
    await server.start();
    app = new App(server.origin, server.secret);
    await app.start();
    await app.said(KNOWN);
  });
  after(async () => {
    await browser?.close();
    await app?.dispose();
    await server.dispose();
  });
  afterEach(async () => {
    const open = readers.splice(0);
    for (const { context } of open) await context.close();
    for (const { problems } of open) assertNoProblems(problems);
  });

  async function open(user, options) {
    const reader = await Reader.open(browser, app.origin, options);
    readers.push(reader);
    if (user) await reader.signIn(user);
    else await reader.page.goto("/");
    return reader;
  }

  test("a visitor sees the counts of a hundred posts, and a like by another user arrives on the open page", async () => {
    const visitor = await open();
    const keys = await visitor.keys();
    assert.equal(keys.length, 100);
    const key = keys[3];
    await visitor.waitForLikes(key, 0);
    assert.equal(await visitor.likeButton(key).isDisabled(), true, "only who is signed in likes");

    const ada = await open("Ada Lindqvist");
    await ada.likeButton(key).click();
    await ada.waitForOwnLike(key, true);
    for (const reader of [ada, visitor]) await reader.waitForLikes(key, 1);
    const [note] = await countsInPlaudit(server, [key]);
    assert.equal(note.likeCount, 1);
    assert.equal(note.title, null, "texts stay in the app");
    assert.equal(note.url, `${app.origin}/posts/${key}`);

    await ada.likeButton(key).click();
    for (const reader of [ada, visitor]) await reader.waitForLikes(key, 0);
  });

  test("a like is still one's own after a reload, and nobody else's", async () => {
    const [ada, bashir] = [await open("Ada Lindqvist"), await open("Bashir Haddad")];
    const key = (await ada.keys())[10];
    await ada.likeButton(key).click();
    await bashir.waitForLikes(key, 1);
    for (const reader of [ada, bashir]) await reader.page.reload();
    await ada.waitForOwnLike(key, true);
    await bashir.waitForOwnLike(key, false);
    for (const reader of [ada, bashir]) await reader.waitForLikes(key, 1);
  });

  test("a comment appears on another user's open page, is counted, and is there after a reload", async () => {
    const [ada, visitor] = [await open("Ada Lindqvist"), await open()];
    const key = (await ada.keys())[20];
    await ada.page.goto(`/posts/${key}`);
    await visitor.page.goto(`/posts/${key}`);
    await ada.write("Slugs. <It> is always slugs.");
    for (const reader of [ada, visitor]) {
      await reader.comment("Slugs. <It> is always slugs.").getByText("Ada Lindqvist").waitFor();
      await reader.waitForComments(key, 1);
    }
    assert.equal(await ada.page.getByLabel("Your comment").inputValue(), "");
    await ada.write("Try beer.");
    await visitor.comment("Try beer.").waitFor();
    assert.match(await visitor.page.locator("[data-comments] li").first().textContent(), /Try beer/);

    await visitor.page.reload();
    assert.equal(await visitor.page.locator("[data-comments] li").count(), 2);
    assert.equal((await countsInPlaudit(server, [key]))[0].commentCount, 2);
  });

  test("without JavaScript the forms like and comment for the user", async () => {
    const frida = await open("Frida Olsen", { ...screens.phone, javaScriptEnabled: false });
    const key = (await frida.keys())[30];
    await frida.likeButton(key).click();
    await frida.page.waitForURL(`/posts/${key}`);
    await frida.waitForOwnLike(key, true);
    await frida.write("No script, no problem.");
    await frida.comment("No script, no problem.").getByText("Frida Olsen").waitFor();
    await frida.likeButton(key).click();
    await frida.waitForOwnLike(key, false);
    assert.equal((await countsInPlaudit(server, [key]))[0].likeCount, 0);
  });

  test("a restart of the app makes its posts known again and changes no count", async () => {
    const [ada, visitor] = [await open("Ada Lindqvist"), await open()];
    const keys = await ada.keys();
    await ada.likeButton(keys[40]).click();
    await visitor.waitForLikes(keys[40], 1);
    const known = await countsInPlaudit(server, keys);
    await app.stop();
    await app.start();
    await app.said(KNOWN);
    assert.deepEqual(await countsInPlaudit(server, keys), known);
    await visitor.page.reload();
    assert.deepEqual(await visitor.keys(), keys);
    await visitor.waitForLikes(keys[40], 1);
  });

  test("while Plaudit is down the posts show without numbers, and open pages go on when it is back", async () => {
    const ada = await open("Ada Lindqvist");
    const key = (await ada.keys())[50];
    await ada.likeButton(key).click();
    await ada.waitForLikes(key, 1);
    await server.kill();
    const visitor = await open();
    assert.equal(await visitor.page.getByRole("article").count(), 100);
    await visitor.page.getByText("Likes and comments do not answer now.").waitFor();

    await server.start();
    await ada.likeButton(key).click();
    await ada.waitForOwnLike(key, false);
    await ada.waitForLikes(key, 0);
    await visitor.page.reload();
    await visitor.waitForLikes(key, 0);
    const connectionError = /net::ERR_|WebSocket connection to/;
    for (const { problems } of [ada, visitor]) {
      problems.splice(0, Infinity, ...problems.filter((problem) => !connectionError.test(problem)));
    }
  });

  test("a post that a moderator removed from Plaudit shows without numbers, and the others go on", async () => {
    const ada = await open("Ada Lindqvist");
    const [gone, key] = (await ada.keys()).slice(60);
    const token = await developmentToken("moderator", "moderator", server.origin);
    const remove = "mutation ($id: ID!) { deleteNote(input: { noteId: $id }) { deletedNoteId } }";
    await send(remove, token, { id: `note:${gone}` }, server.origin);
    await ada.page.goto("about:blank"); // the page may still be loading scripts of the app, which stops now
    await app.stop();
    await app.start();
    await app.said(KNOWN);
    await ada.signIn("Ada Lindqvist");
    assert.equal(await ada.page.getByRole("article").count(), 100);
    assert.equal(await ada.card(gone).count(), 0);
    await ada.likeButton(key).click();
    await ada.waitForLikes(key, 1);
    await ada.page.goto(`/posts/${gone}`);
    assert.equal(await ada.page.getByRole("button", { name: /^Like/ }).isDisabled(), true);
  });

  for (const [name, screen] of Object.entries(screens)) {
    for (const colorScheme of ["light", "dark"]) {
      test(`axe reports no violation on the example app, on a ${name} in ${colorScheme}`, async () => {
        const ada = await open("Ada Lindqvist", { ...screen, colorScheme });
        const key = (await ada.keys())[20];
        for (const path of ["/", `/posts/${key}`]) {
          await ada.page.goto(path);
          await ada.page.evaluate(axe);
          const { violations } = await ada.page.evaluate(() => window.axe.run());
          assert.deepEqual(
            violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target)}`),
            [],
            path,
          );
          const overflow = await ada.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(overflow <= 0, `${path} is ${overflow} px wider than the screen`);
        }
      });
    }
  }
});
