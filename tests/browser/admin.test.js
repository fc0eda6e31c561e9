import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { assertNoProblems, baseUrl, developmentToken, launchBrowser, openContext, recordProblems, send } from "./browser.js";

let browser;
let context;
let page;

before(async () => {
  browser = await launchBrowser();
});
after(() => browser?.close());

beforeEach(async () => {
  context = await openContext(browser);
  page = await context.newPage();
});
afterEach(() => context?.close());

test("on a development server the admin page signs in by itself and shows likes and requests", async () => {
  const errors = [];
  context.on("weberror", (error) => errors.push(error.error().stack));
  await page.goto(`${baseUrl}/admin`);
  const likes = page.getByRole("table").filter({ hasText: "like note" }).getByRole("row", { name: /^like note/ });
  await likes.getByText("/s").first().waitFor();

  const token = await developmentToken();
  const { feed } = await send("{ feed(first: 1) { nodes { id } } }", token);
  const toggle = (field) => send(`mutation { ${field}(input: { noteId: "${feed.nodes[0].id}" }) { changed } }`, token);
  await toggle("unlikeNote");
  await toggle("likeNote");
  await toggle("unlikeNote");

  await likes.getByText(/^(0\.[1-9]|[1-9])/).first().waitFor();
  await page.getByRole("row", { name: /^likeNote mutation/ }).getByText("ms").first().waitFor();
  await page.getByText("No alarms.").waitFor();
  assert.deepEqual(errors, []);
});

test("the explanation of a number opens on keyboard focus and closes with Escape", async () => {
  await page.goto(`${baseUrl}/admin`);
  const about = page.getByRole("button", { name: "About: Likes per second" });
  await about.focus();
  const tip = page.getByRole("tooltip");
  await tip.getByText("Normal:").waitFor();
  await tip.getByText("If not:").waitFor();
  await page.keyboard.press("Escape");
  await tip.waitFor({ state: "detached" });
});

test("the page explains the numbers of an object, and says what is wrong with an id", async () => {
  const problems = recordProblems(context);
  const { feed } = await send("{ feed(first: 1) { nodes { id likeCount } } }", await developmentToken());
  const [{ id, likeCount }] = feed.nodes;
  await page.goto(`${baseUrl}/admin`);
  const panel = page.getByRole("region", { name: "Explain a number" });
  const ask = async (id) => {
    await panel.getByLabel("Id of a user, note, comment or group").fill(id);
    await panel.getByRole("button", { name: "Explain" }).click();
  };
  for (let times = 0; times < 2; times++) {
    await ask(id);
    await panel.getByText(/^(All agree|Rows and totals agree)/).waitFor();
    const likes = panel.getByRole("row", { name: /^likes/ });
    assert.equal(await likes.getByRole("cell").first().innerText(), likeCount.toLocaleString("en"));
    await panel.getByRole("group", { name: "Logs" }).getByRole("row", { name: /^0 / }).waitFor();
  }
  await ask("note_9000000000");
  await panel.getByText("There never was a note_9000000000.").waitFor();
  await ask("cat_1");
  await panel.getByText("is not an id").waitFor();
  assertNoProblems(problems);
});

test("the sign-in refuses a token without the role moderator and stores no token", async () => {
  await context.route("**/dev/token*", (route) => route.fulfill({ status: 404 }));
  await page.goto(`${baseUrl}/admin`);
  await page.getByText("plaudit token --user ops --role moderator").waitFor();

  await page.getByLabel("Token").fill("no token");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("That is no token").waitFor();

  await page.getByLabel("Token").fill(await developmentToken());
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").getByText("not a moderator’s").waitFor();
  assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]), [0, 0, ""]);
});
