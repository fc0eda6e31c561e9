// The browser, and what every page of ours must not do.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

if (!process.env.PLAUDIT_URL) {
  throw new Error("PLAUDIT_URL must name a running server, such as http://127.0.0.1:8080");
}
/** Scheme, host and port of the server under test. */
export const baseUrl = new URL(process.env.PLAUDIT_URL).origin;

/** Bounds waits that end by an event: a slow machine must not reach it. */
const PATIENCE_MS = 120_000;

/** A window's cookies, storage and pages. */
export async function openContext(browser, options) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE_MS);
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

/** Notes what the pages of `context` do that they must not: see `assertWellBehaved`. */
export function observe(context, origin = baseUrl) {
  const offences = [];
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.origin !== origin) offences.push(`asked another host: ${url.href}`);
  });
  context.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) {
      offences.push(`${message.type()}: ${message.text()} (${message.location().url})`);
    }
  });
  context.on("weberror", (error) => offences.push(error.error().stack));
  return offences;
}

/** No error or warning on the console, no request to another host. */
export function assertWellBehaved(offences) {
  assert.deepEqual(offences, []);
}

/** Sends one operation from here, outside the browser. */
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

/** A token for `user`, or for whom the server proposes. */
export async function developmentToken(user, role = "user", origin = baseUrl) {
  const query = new URLSearchParams(user ? { user, role } : { role });
  const response = await fetch(`${origin}/dev/token?${query}`);
  if (!response.ok) throw new Error(`/dev/token answered ${response.status}: is this a development server?`);
  return (await response.json()).token;
}
