// The app's server: its pages, its sign-in, and the forms of pages without JavaScript. It makes the app's users and
// posts known to Plaudit when it starts.
//
// Environment: PORT (3000), DATABASE_FILE (data/app.sqlite), PLAUDIT_URL (http://127.0.0.1:8080), PAGE_WAIT_MS (1000),
// how long a page waits for its counts, and PLAUDIT_JWT_SECRET, the secret that the app shares with Plaudit. Without
// it, the one that `make run` generated.

import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { listPage, postPage } from "./page.js";
import { Plaudit, PlauditError } from "./plaudit.js";
import { openPosts } from "./posts.js";

const here = import.meta.dirname;
const {
  PORT = "3000",
  PLAUDIT_URL = "http://127.0.0.1:8080",
  PAGE_WAIT_MS = "1000",
  DATABASE_FILE = join(here, "data/app.sqlite"),
} = process.env;

const MAX_FORM_BYTES = 16_384;
const COOKIE = "your_app_session";
const LONGEST_PAUSE_SECONDS = 30;

const app = await openPosts(DATABASE_FILE);
const plaudit = new Plaudit(PLAUDIT_URL, sharedSecret(), Number(PAGE_WAIT_MS));

/** Who is signed in, by the value of the cookie. A restart of this example signs everybody out. */
const sessions = new Map();

/** Files that browsers get as they are. */
const files = Object.fromEntries(
  [
    ["/live.js", "public/live.js", "text/javascript"],
    ["/style.css", "public/style.css", "text/css"],
    ...packageFiles(),
  ].map(([path, file, type]) => [path, { body: readFileSync(join(here, file)), type: `${type}; charset=utf-8` }]),
);

/** Scripts come from here only; connections go to here and to Plaudit. */
const POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:",
  `connect-src 'self' ${plaudit.origin} ${plaudit.origin.replace("http", "ws")}`,
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
].join("; ");

const ROUTES = [
  ["GET", /^\/$/, showPosts],
  ["GET", /^\/posts\/([^/]+)$/, showPost],
  ["GET", /^\/token$/, giveToken],
  ["POST", /^\/sign-in$/, signIn],
  ["POST", /^\/sign-out$/, signOut],
  ["POST", /^\/posts\/([^/]+)\/like$/, like],
  ["POST", /^\/posts\/([^/]+)\/comment$/, comment],
];

async function showPosts({ viewer }) {
  const posts = app.posts();
  const counts = await plaudit.counts(posts, viewer).catch(withoutCounts);
  return page(listPage({ posts, counts, ...around(viewer) }));
}

async function showPost({ viewer, post }) {
  const note = await plaudit.discussion(post, viewer).catch(withoutCounts);
  return page(postPage({ post, note, ...around(viewer) }));
}

/** The posts are the app's own, so they show whatever happens to Plaudit. */
function withoutCounts(error) {
  console.error(error.message);
}

const around = (viewer) => ({ viewer, users: app.users(), graphqlUrl: `${plaudit.origin}/graphql` });

/** The page asks for a token whenever it connects. The session's cookie says whose; without one there is none. */
function giveToken({ viewer }) {
  const body = JSON.stringify({ token: viewer ? plaudit.userToken(viewer) : null });
  return { body, headers: { "Content-Type": "application/json", "Cache-Control": "no-store" } };
}

async function signIn({ form }) {
  if (!app.user(form.get("user"))) return problem(400, "There is no such user.");
  const session = randomUUID();
  sessions.set(session, form.get("user"));
  return seeOther("/", { "Set-Cookie": `${COOKIE}=${session}; HttpOnly; SameSite=Lax; Path=/` });
}

function signOut({ session }) {
  sessions.delete(session);
  return seeOther("/", { "Set-Cookie": `${COOKIE}=; Max-Age=0; Path=/` });
}

async function like({ viewer, post, form }) {
  if (!viewer) return problem(403, "Sign in to like.");
  await plaudit.like(post, form.get("on") === "yes", viewer);
  return seeOther(`/posts/${post.id}`);
}

async function comment({ viewer, post, form }) {
  if (!viewer) return problem(403, "Sign in to comment.");
  await plaudit.comment(post, form.get("body") ?? "", form.get("key") ?? randomUUID(), viewer);
  return seeOther(`/posts/${post.id}`);
}

/** Answers. What depends on who is signed in is never kept by a cache. */
const page = (body) => ({ body, headers: { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store" } });
const problem = (status, body) => ({ status, body, headers: { "Content-Type": "text/plain; charset=utf-8" } });
const seeOther = (path, headers) => ({ status: 303, headers: { ...headers, Location: path } });

async function answer(request) {
  const { pathname } = new URL(request.url, "http://localhost");
  const file = files[pathname];
  if (file) return { body: file.body, headers: { "Content-Type": file.type } };

  const [method, pattern, respond] = ROUTES.find(([, pattern]) => pattern.test(pathname)) ?? [];
  if (!respond) return problem(404, "There is no such page.");
  if (request.method !== method) return problem(405, `This address takes ${method}.`);
  // The cookie is not sent with forms of other sites (SameSite). This refuses those of other ports, too.
  const from = request.headers["sec-fetch-site"] ?? "same-origin";
  if (method === "POST" && from !== "same-origin") return problem(403, "This form is not from this app.");

  const [, id] = pattern.exec(pathname);
  const post = id && app.post(id);
  if (id && !post) return problem(404, "There is no such post.");
  const session = new RegExp(`(?:^|; )${COOKIE}=([^;]+)`).exec(request.headers.cookie ?? "")?.[1];
  const viewer = sessions.has(session) ? app.user(sessions.get(session)) : undefined;
  const form = method === "POST" ? await readForm(request) : undefined;
  if (form === null) return problem(413, "The form is too long.");
  return respond({ viewer, session, post, form });
}

/** Null if it is too long. */
async function readForm(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > MAX_FORM_BYTES) return null;
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

const server = createServer(async (request, response) => {
  const { status = 200, headers, body } = await answer(request).catch(failure);
  response.writeHead(status, { "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", ...headers });
  response.end(body);
});

/** What Plaudit refuses to a user, as when they are suspended, it says in words that they may see. */
function failure(error) {
  if (error instanceof PlauditError && !error.isRetryable) return problem(422, error.message);
  console.error(error);
  return problem(503, "That did not work. Please try again in a minute.");
}

/** Tells Plaudit of everything that the app has. An app that grows does the same for each new or changed post. */
async function publish() {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const refused = await plaudit.publish(app.users(), app.posts(), (post) => `${address()}/posts/${post.id}`);
      for (const refusal of refused) console.error(`Plaudit refuses ${refusal}`);
      return console.log("Plaudit knows the posts");
    } catch (error) {
      if (!error.isRetryable) return console.error(`Plaudit refuses the posts: ${error.message}`);
      const seconds = Math.min(2 ** attempt, LONGEST_PAUSE_SECONDS) * (0.5 + Math.random() / 2);
      console.error(`${error.message}. Is \`make run\` running? The next attempt is in ${seconds.toFixed(1)} s.`);
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    }
  }
}

function sharedSecret() {
  if (process.env.PLAUDIT_JWT_SECRET) return process.env.PLAUDIT_JWT_SECRET;
  const file = join(here, "../../.plaudit/jwt-secret");
  try {
    return readFileSync(file, "utf8").trimEnd();
  } catch {
    console.error(
      `There is no ${file}. Start Plaudit first, by \`make run\`, or set PLAUDIT_JWT_SECRET to its secret.`,
    );
    process.exit(1);
  }
}

/** The package's modules for browsers. An app with a bundler imports the package instead. */
function packageFiles() {
  const folder = "node_modules/plaudit-client/dist";
  const names = readdirSync(join(here, folder)).filter((name) => name.endsWith(".js"));
  return names.map((name) => [`/plaudit-client/${name}`, `${folder}/${name}`, "text/javascript"]);
}

const address = () => `http://127.0.0.1:${server.address().port}`;
await new Promise((listening) => server.listen(Number(PORT), "127.0.0.1", listening));
console.log(`listening on ${address()}`);
await publish();
