// The browser under test, a recorder of page problems, and a GraphQL client outside the browser.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

if (!process.env.PLAUDIT_URL) {
  throw new Error("PLAUDIT_URL must name a running server, such as http://127.0.0.1:8080");
}
/** Scheme, host and port of the server under test. */
export const baseUrl = new URL(process.env.PLAUDIT_URL).origin;

/** Limit of waits that end with an event; long enough for a slow machine. */
const TIMEOUT_MS = 120_000;

/** A browser context: cookies, storage and pages of its own. */
export async function openContext(browser, options) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(TIMEOUT_MS);
  return context;
}

export function launchBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** Records console errors and warnings, uncaught errors and requests to other hosts; see `assertNoProblems`. */
export function recordProblems(context, origin = baseUrl) {
  const problems = [];
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.origin !== origin) problems.push(`request to another host: ${url.href}`);
  });
  context.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) {
      problems.push(`${message.type()}: ${message.text()} (${message.location().url})`);
    }
  });
  context.on("weberror", (error) => problems.push(error.error().stack));
  return problems;
}

/** Fails if a page logged an error or a warning, threw an error or requested something from another host. */
export function assertNoProblems(problems) {
  assert.deepEqual(problems, []);
}

/** Sends one GraphQL operation from the test process. */
export async function send(query, token, variables = {}, origin = baseUrl) {
  const response = await fetch(`${origin}/graphql`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}

/** A token for `user`; by default for the user that the server chooses. */
export async function developmentToken(user, role = "user", origin = baseUrl) {
  const query = new URLSearchParams(user ? { user, role } : { role });
  const response = await fetch(`${origin}/dev/token?${query}`);
  if (!response.ok) throw new Error(`/dev/token answered ${response.status}: is this a development server?`);
  return (await response.json()).token;
}
