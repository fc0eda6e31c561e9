// The pages of the README of plaudit-client, as they stand there, on a real server: each has right like buttons.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { OwnServer } from "../own_server.js";
import { assertNoProblems, developmentToken, launchBrowser, openContext, recordProblems, send } from "./browser.js";

const client = join(import.meta.dirname, "../../client");
const fromClient = createRequire(join(client, "package.json"));
const { rolldown } = await import(fromClient.resolve("rolldown"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const readme = readFileSync(join(client, "README.md"), "utf8");
const block = (language) => new RegExp(`\`\`\`${language}\n([^]*?)\n\`\`\``).exec(readme)[1];

const MAX_LINES = 42;
const KEYS = ["post-1", "post-2"];
/** Of notes that only the elements' tests show. */
const ELEMENTS_KEYS = ["shown-1", "shown-2"];
const COUNTS = "id countsVersion likeCount viewerHasLiked";

const addressed = (code) => code.replaceAll("https://plaudit.example", server.origin);

let app;
let server;
let browser;
before(async () => {
  browser = await launchBrowser();
  app = await serve();
  server = new OwnServer(["--cors-origins", app.origin]);
  await server.start();
  const service = await serviceToken();
  const write = `mutation ($notes: [NoteUpsert!]!) {
    upsertUsers(input: { users: [{ subject: "ann", name: "Ann" }] }) { results { outcome } }
    upsertNotes(input: { notes: $notes }) { results { outcome } }
    upsertGroups(input: { groups: [{ key: "group", ownerId: "user:ann", name: "Group", description: "" }] }) { results { outcome } }
  }`;
  const notes = [...KEYS, ...ELEMENTS_KEYS].map((key) => ({ key, authorId: "user:ann", title: key, body: key }));
  await send(write, service, { notes }, server.origin);
});
after(async () => {
  await browser?.close();
  app?.close();
  await server?.dispose();
});

const serviceToken = async () => server.bearer("app", "service").slice("Bearer ".length);
const userToken = (user) => developmentToken(user, "user", server.origin);
const likeAs = async (user, key) =>
  send("mutation ($id: ID!) { likeNote(input: { noteId: $id }) { changed } }", await userToken(user), { id: `note:${key}` }, server.origin);
const noteOf = async (key) =>
  (await send("query ($id: ID!) { note(id: $id) { likeCount viewCount } }", await userToken("reader"), { id: `note:${key}` }, server.origin)).note;
const likesOf = async (key) => (await noteOf(key)).likeCount;
const viewsOf = async (key) => (await noteOf(key)).viewCount;
/** Waits until the server has a number. */
async function until(number, expected) {
  const deadline = performance.now() + 60_000;
  while ((await number()) !== expected) {
    assert.ok(performance.now() < deadline, `the server has ${await number()} and not ${expected}`);
    await setTimeout(50);
  }
}

/** Compiles the page of React: for the browser, and for the server that renders it. */
async function compileReact(code, platform) {
  const page = { name: "page", resolveId: (id) => (id === "page.jsx" ? join(client, "page.jsx") : null), load: (id) => (id === join(client, "page.jsx") ? code : null) };
  const built = await rolldown({ input: "page.jsx", plugins: [page], cwd: client, platform, transform: { jsx: "react-jsx", define: { "process.env.NODE_ENV": '"development"' } } });
  const { output } = await built.generate({ format: "esm", codeSplitting: false });
  return output[0].code;
}

/** A server of the app's: its pages, the package's files, and tokens of the user that the cookie names. */
async function serve() {
  let script;
  const pages = {
    "/": () => ["text/html", addressed(block("html"))],
    "/keeping": (user) => ["text/html", keepingPage(user)],
    "/react": async (user) => ["text/html", await reactPage(user)],
    "/react.js": async () => ["text/javascript", await (script ??= compileReact(addressed(block("jsx")), "browser"))],
    "/token": async (user) => ["application/json", JSON.stringify({ token: await userToken(user) })],
  };
  for (const name of readdirSync(join(client, "dist")).filter((name) => name.endsWith(".js"))) {
    pages[`/plaudit-client/${name}`] = () => ["text/javascript", readFileSync(join(client, "dist", name), "utf8")];
  }
  const listening = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://localhost");
    const user = /user=(\w+)/.exec(request.headers.cookie ?? "")?.[1];
    const [type, body] = (await pages[pathname]?.(user)) ?? ["text/plain", "no"];
    response.writeHead(200, { "Content-Type": `${type}; charset=utf-8` }).end(body);
  });
  listening.listen(0, "127.0.0.1");
  await once(listening, "listening");
  return { origin: `http://127.0.0.1:${listening.address().port}`, close: () => listening.close() };
}

/** The page of plain HTML, with actions that outlast it, and views. */
const keepingPage = (user) =>
  addressed(block("html"))
    .replace("createPlaudit }", "createPlaudit, keepFor }")
    .replace("url:", `keep: keepFor("${user}"), url:`)
    .replace("definePlauditElements(plaudit);", "definePlauditElements(plaudit); globalThis.plaudit = plaudit;");

/** The page of React, rendered by a process of its own, as a server does. */
async function reactPage(user) {
  const query = `query ($keys: [String!]!) { notesByKey(keys: $keys) { ${COUNTS} } }`;
  const { notesByKey } = await send(query, await userToken(user), { keys: KEYS }, server.origin);
  const posts = KEYS.map((key, at) => ({ key, title: key, author: "ann", note: notesByKey[at] }));
  const code = `${block("jsx")}
    import { renderToString } from "react-dom/server";
    export const html = (posts) => renderToString(<App posts={posts} />);`;
  rendering ??= compileReact(code, "node").then((text) => {
    const file = join(mkdtempSync(join(tmpdir(), "client-pages-")), "page.mjs");
    writeFileSync(file, text);
    return import(file).finally(() => rmSync(dirname(file), { recursive: true }));
  });
  const { html } = await rendering;
  return `<!doctype html><html lang="en"><title>React</title><link rel="icon" href="data:," /><main><h1>Posts</h1><div id="root">${html(posts)}</div></main>
    <script type="application/json" id="posts">${JSON.stringify(posts)}</script><script type="module" src="/react.js"></script></html>`;
}
let rendering;

/** A window of a user on a page. */
async function open(user, path) {
  const context = await openContext(browser, { baseURL: app.origin });
  await context.addCookies([{ name: "user", value: user, url: app.origin }]);
  const problems = recordProblems(context, app.origin);
  return { context, problems, ...(await openTab(context, path)) };
}

/** A tab of the window. */
async function openTab(context, path) {
  const page = await context.newPage();
  await page.goto(path);
  const button = (at) => page.getByRole("button", { name: /^Like/ }).nth(at);
  const likes = (at, count, isOn) =>
    page.locator(`button[aria-pressed="${isOn}"][aria-label$=": ${count}"]`).and(button(at)).waitFor();
  const shown = async (at) => Number(/: (\d+)$/.exec(await button(at).getAttribute("aria-label"))[1]);
  /** Takes the network away from this tab alone, or gives it back. */
  const setOffline = async (offline) => {
    network ??= await context.newCDPSession(page);
    await network.send("Network.enable");
    await network.send("Network.emulateNetworkConditions", { offline, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
    await page.waitForFunction((offline) => navigator.onLine !== offline, offline);
  };
  let network;
  return { page, button, likes, shown, setOffline };
}

for (const [name, path, language, likes] of [["plain HTML", "/", "html", 0], ["React", "/react", "jsx", 1]]) {
  test(`the page of ${name} in the README has right like buttons on a real server`, async () => {
    assert.ok(block(language).split("\n").length <= MAX_LINES, "it is short");
    const key = KEYS[likes];
    const [ada, bob] = [await open("ada", path), await open("bob", path)];
    await ada.likes(likes, 0, false);
    await bob.likes(likes, 0, false);
    await ada.button(likes).click();
    await ada.likes(likes, 1, true);
    await bob.likes(likes, 1, false);
    await likeAs("cyd", key);
    await ada.likes(likes, 2, true);

    // Four taps, at once: on again at the end. What was sent of them meanwhile may still be on its way to others.
    for (let tap = 0; tap < 4; tap += 1) await ada.button(likes).click();
    await ada.likes(likes, 2, true);

    // Without a network a like shows, and counts when it is back.
    await bob.context.setOffline(true);
    await bob.page.waitForFunction(() => !navigator.onLine);
    const shown = await bob.shown(likes);
    await bob.button(likes).click();
    await bob.likes(likes, shown + 1, true);
    await bob.context.setOffline(false);
    for (const { likes: wait } of [ada, bob]) await wait(likes, 3, true);
    await until(() => likesOf(key), 3); // ada's last tap has arrived

    await ada.page.reload();
    await ada.likes(likes, 3, true);
    await ada.page.evaluate(axe);
    const { violations } = await ada.page.evaluate(() => window.axe.run());
    assert.deepEqual(violations.map(({ id }) => id), []);
    for (const { context, problems } of [ada, bob]) {
      await context.close();
      assertNoProblems(problems.filter((problem) => !/net::ERR_INTERNET|WebSocket connection|request to another host/.test(problem)));
    }
  });
}

test("a tab without a network drops what it did before another tab of the user, at once", async () => {
  const one = await open("dan", "/keeping");
  const two = await openTab(one.context, "/keeping");
  const before = await likesOf(KEYS[0]);
  for (const tab of [one, two]) await tab.likes(0, before, false);

  await two.setOffline(true);
  await two.button(0).click();
  await two.likes(0, before + 1, true);
  for (const [count, isOn] of [[before + 1, true], [before, false]]) {
    await one.button(0).click();
    await one.likes(0, count, isOn);
  }
  // By the browser's `storage` event: there is no other way to know of it.
  await two.likes(0, before, false);

  await two.setOffline(false);
  await likeAs("eve", KEYS[0]);
  for (const tab of [one, two]) await tab.likes(0, before + 1, false);
  assert.equal(await likesOf(KEYS[0]), before + 1);
  await one.context.close();
});

test("a like without a network outlasts its tab, and a view the page that goes", async () => {
  const { context, page, ...tab } = await open("fay", "/keeping");
  const before = await likesOf(KEYS[1]);
  await tab.likes(1, before, false);
  // The first view loads the part that gathers views, for two seconds; then the page goes.
  await page.evaluate(async (ref) => {
    globalThis.plaudit.seen(ref);
    await import("/plaudit-client/views.js");
  }, `note:${KEYS[0]}`);
  await page.goto("about:blank");
  await until(() => viewsOf(KEYS[0]), 1);

  await page.goto("/keeping");
  await tab.likes(1, before, false);
  await tab.setOffline(true);
  await tab.button(1).click();
  await tab.likes(1, before + 1, true);
  await page.close();

  const next = await openTab(context, "/keeping");
  await next.likes(1, before + 1, true);
  await until(() => likesOf(KEYS[1]), before + 1);
  await context.close();
});

/** A page with these elements alone; what they show at once, before anything can be answered. */
async function withElements(user, html) {
  const { context, page, problems } = await open(user, "/keeping");
  await page.waitForFunction(() => globalThis.plaudit !== undefined);
  const first = await page.evaluate((html) => {
    const main = document.querySelector("main");
    main.innerHTML = html;
    const state = (button) => (button ? `${button.ariaLabel}, ${button.ariaPressed}` : undefined);
    return [...main.children].map((element) => state(element.querySelector("button")) ?? element.textContent);
  }, html);
  const has = (name, label, isOn) => page.locator(`plaudit-${name} button[aria-label="${label}"][aria-pressed="${isOn}"]`).waitFor();
  return { context, page, problems, first, has };
}

test("elements show what the HTML has before the first answer, and older answers never replace it", async () => {
  const { context, page, first, has } = await withElements("gil", `
    <plaudit-like note-key="shown-1" count="41" version="9007199254740991" pressed="true"></plaudit-like>
    <plaudit-collect note-key="shown-2" count="7" pressed="true" label="Keep"><button>Keep <b data-count>7</b></button></plaudit-collect>
    <plaudit-follow user-key="ann" count="3" label="Follow Ann"></plaudit-follow>
    <plaudit-join group-key="group"></plaudit-join>
    <plaudit-count note-key="shown-2" field="collectCount" count="7"></plaudit-count>
    <plaudit-count note-key="shown-2" field="ratingAverage"></plaudit-count>`);
  assert.deepEqual(first, ["Like: 41, true", "Keep: 7, true", "Follow Ann: 3, false", "Join, false", "7", ""]);
  await has("like", "Like: 41", false); // the viewer has not liked it: the answer is there, and its count is older
  await has("collect", "Keep: 0", false);
  await has("follow", "Follow Ann: 0", false);
  await has("join", "Join: 0", false);
  const count = (field, text) => page.locator(`plaudit-count[field="${field}"]`, { hasText: text }).waitFor();
  await count("ratingAverage", "–");
  await page.getByRole("button", { name: "Keep" }).click();
  await has("collect", "Keep: 1", true);
  assert.equal(await page.locator("plaudit-collect button").innerText(), "Keep 1");
  await count("collectCount", "1");
  await page.getByRole("button", { name: "Follow" }).click();
  await has("follow", "Follow Ann: 1", true);
  await page.getByRole("button", { name: "Join" }).click();
  await has("join", "Join: 1", true);
  await context.close();
});

test("an element takes a key that looks like an id for the key, and no key for an id", async () => {
  const service = await serviceToken();
  const { notesByKey } = await send("{ notesByKey(keys: [\"shown-2\"]) { id } }", service, {}, server.origin);
  const [{ id }] = notesByKey;
  const write = "mutation ($key: String!) { upsertNotes(input: { notes: [{ key: $key, authorId: \"user:ann\", title: \"T\", body: \"B\" }] }) { results { outcome } } }";
  await send(write, service, { key: id }, server.origin);
  const { context, page, problems, has } = await withElements("hal", `<plaudit-like note-key="${id}"></plaudit-like>`);
  await has("like", "Like: 0", false);
  await page.getByRole("button").click();
  await until(() => likesOf(id), 1);
  const other = await send("query ($id: ID!) { note(id: $id) { likeCount } }", service, { id }, server.origin);
  assert.equal(other.note.likeCount, 0);
  await page.evaluate(() => document.querySelector("plaudit-like").setAttribute("note", "shown-1"));
  await page.waitForTimeout(0);
  assert.match(problems.join(), /note="shown-1" is no id/);
  await context.close();
});
