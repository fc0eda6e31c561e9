// Syntax errors have the words and the place that graphql-js gives them: of documents from which a token is taken, in which
// one comes twice, or one is another.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Lexer, Source, parse } from "graphql";
import { graphqlUrl } from "./server.js";

const DOCUMENTS = [
  readFileSync(new URL("../documents/apollo.graphql", import.meta.url), "utf8"),
  'query A($n: [Int!]! = [1, -2], $o: In = { a: "x", b: [E, null] }) @d(a: 1.5) { a: b(c: $n, d: { e: $o }) @s(if: true) { ...F } }\n' +
    "fragment F on T @d { ... on U { id } ... @s(if: false) { id } }",
];
const OTHERS = ["{", "}", "(", ")", "[", "]", ":", "$", "@", "!", "=", "...", "on", "name", "1", "1.5", '"text"', "%", ""];

function changed(text) {
  const lexer = new Lexer(new Source(text));
  const tokens = [];
  while (lexer.advance().kind !== "<EOF>") tokens.push({ start: lexer.token.start, end: lexer.token.end });
  return tokens.flatMap(({ start, end }, index) => {
    const other = [OTHERS[(7 * index) % OTHERS.length], OTHERS[(11 * index + 3) % OTHERS.length]];
    return other.map((token) => `${text.slice(0, start)} ${token} ${text.slice(end)}`).concat(text.slice(0, start));
  });
}

function errorOf(text) {
  try {
    parse(text);
    return undefined;
  } catch ({ message, locations }) {
    return { message, locations };
  }
}

test("syntax errors are those of graphql-js", async () => {
  const texts = DOCUMENTS.flatMap(changed).filter((text) => errorOf(text));
  assert.ok(texts.length > 300, `${texts.length}`);
  let accepted = 0;
  for (const query of texts) {
    const headers = { "content-type": "application/json", accept: "application/graphql-response+json" };
    const response = await fetch(graphqlUrl, { method: "POST", headers, body: JSON.stringify({ query }) });
    const { errors } = await response.json();
    const { message, locations } = errors[0];
    // The server's parser allows a few more documents: a fragment named "on", "1.5name".
    if (response.status === 422) accepted += 1;
    else assert.deepEqual([response.status, errors.length, { message, locations }], [400, 1, errorOf(query)], query);
  }
  assert.ok(accepted < texts.length / 20, `${accepted} of ${texts.length}`);
});
