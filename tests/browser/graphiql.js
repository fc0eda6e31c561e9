// Helpers that drive a GraphiQL page. Each waits until its elements are there.

import { baseUrl } from "./browser.js";

/** A new GraphiQL page in `context`, with `operation` = `{ query, variables }` in its editors. */
export async function openGraphiQL(context, operation) {
  const page = await context.newPage();
  // The editor draws only what is in view, and the tests read what it draws.
  await page.setViewportSize({ width: 1400, height: 1000 });
  await showOperation(page, operation);
  return page;
}

/** Opens `operation` in an existing page through its link. */
export async function showOperation(page, operation) {
  const url = new URL("/graphiql", baseUrl);
  if (operation) {
    url.searchParams.set("query", operation.query);
    url.searchParams.set("variables", JSON.stringify(operation.variables ?? {}));
  }
  await page.goto(url.href);
  await page.locator(".graphiql-query-editor .view-line").first().waitFor();
}

export function run(page) {
  return page.getByRole("button", { name: "Execute query" }).click();
}

export function stop(page) {
  return page.getByRole("button", { name: "Stop query" }).click();
}

/** Waits until the result pane matches `pattern`; returns the match. */
export async function waitForResult(page, pattern) {
  const pane = page.locator(".result-window .view-lines");
  await pane.waitFor();
  try {
    const match = await page.waitForFunction(
      ({ source }) => {
        const text = document.querySelector(".result-window .view-lines")?.innerText ?? "";
        return text.replaceAll("\u00a0", " ").match(new RegExp(source));
      },
      { source: pattern.source },
    );
    return await match.jsonValue();
  } catch (cause) {
    throw new Error(`no ${pattern} in the result pane:\n${await pane.innerText()}`, { cause });
  }
}

/** Replaces the text of the header editor by `headers`. */
export async function setHeaders(page, headers) {
  await page.getByRole("button", { name: "Headers" }).click();
  const editor = page.locator(".graphiql-editor-tool .graphiql-editor:not(.hidden)");
  await editor.locator(".view-line").first().click();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.insertText(JSON.stringify(headers));
  // The editor has added closing quotes and braces.
  await page.keyboard.press("ControlOrMeta+Shift+End");
  await page.keyboard.press("Delete");
}

/** Collects the messages that the page's GraphQL sockets receive from now on. */
export function receivedMessages(page) {
  const messages = [];
  page.on("websocket", (socket) => {
    socket.on("framereceived", ({ payload }) => messages.push(JSON.parse(payload)));
  });
  return messages;
}

/** The payload of `connection_init` on the next GraphQL socket that the page opens. */
export function nextConnectionInit(page) {
  return new Promise((resolve) => {
    page.once("websocket", (socket) => {
      socket.once("framesent", ({ payload }) => resolve(JSON.parse(payload).payload));
    });
  });
}
