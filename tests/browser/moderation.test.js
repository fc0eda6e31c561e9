// A comment that a person must judge: how the moderator and the author see it.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { OwnServer } from "../own_server.js";
import { makeNote, newName } from "./making.js";
import { Talk } from "./talk.js";
import { openDoors } from "./visitor.js";

const arrive = openDoors();

/** A language model that never comes to a verdict, so that every comment waits for a person. */
const model = createServer((request, response) => {
  request.resume();
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ choices: [{ message: { content: "Hard to say." } }] }));
});
let server;

before(async () => {
  await once(model.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${model.address().port}/v1`;
  server = new OwnServer(["--moderator", "http", "--moderator-url", url, "--moderator-model", "wavering"]);
  await server.start();
});
after(async () => {
  await server?.dispose();
  model.closeAllConnections();
  model.close();
});

test("comments that wait come to the operator's page, and what is decided there shows on the author's", async () => {
  const { origin } = server;
  const { id } = await makeNote(newName("author"), origin);
  const writer = await arrive({ user: newName("writer"), origin });
  const talk = await Talk.open(writer, id);
  const reader = await Talk.open(await arrive({ user: newName("reader"), origin }), id);
  const operator = await arrive({ origin });
  await operator.goTo("/admin", { live: false });
  const queue = operator.page.getByRole("list", { name: "Comments that wait for a person" });
  await operator.page.getByText("No comment waits for a person.").waitFor();

  for (const text of ["Harmless.", "Harmful."]) {
    await talk.say(text);
    await talk.comment(text).getByText("Waiting for approval").waitFor();
    await queue.getByRole("listitem").filter({ hasText: text }).getByText("not a valid verdict").waitFor();
  }
  await talk.seeCount(0);
  assert.equal(await reader.comment("Harm").count(), 0);

  const waiting = (text) => queue.getByRole("listitem").filter({ hasText: text });
  await waiting("Harmless.").getByRole("button", { name: /^Approve/ }).click();
  await waiting("Harmless.").waitFor({ state: "detached" });
  await talk.likes("Harmless.", 0).waitFor();
  await talk.seeCount(1);
  await reader.seeCount(1);
  await reader.page.getByRole("button", { name: "Show 1 new comment" }).click();
  await reader.comment("Harmless.").waitFor();

  await waiting("Harmful.").getByRole("button", { name: /^Reject/ }).click();
  await waiting("Harmful.").getByLabel("Why, for its author").fill("Be kind.");
  await waiting("Harmful.").getByRole("button", { name: "Reject", exact: true }).click();
  await waiting("Harmful.").waitFor({ state: "detached" });
  await operator.page.getByText("No comment waits for a person.").waitFor();
  // The author's page learns of that by polling only, at growing intervals.
  await writer.page.reload();
  await talk.comment("Harmful.").getByText("Not published: Be kind.").waitFor();
  await talk.seeCount(1);
  assert.equal(await reader.comment("Harmful.").count(), 0);

  await operator.page.reload();
  await operator.page.getByText("No comment waits for a person.").waitFor();
});
