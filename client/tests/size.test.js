// What a page loads for the package, as a bundler makes it, with brotli.

import assert from "node:assert/strict";
import { test } from "node:test";
import { brotliCompressSync } from "node:zlib";
import { rolldown } from "rolldown";

const MAX_CORE_BYTES = 6_300;
/** What the elements add to it. */
const MAX_ELEMENTS_BYTES = 750;

/** The parts of a bundle with that code: those that the page loads at once, and those on demand. */
async function bundle(code) {
  const entry = { name: "entry", resolveId: (id) => (id === "entry" ? id : null), load: (id) => (id === "entry" ? code : null) };
  const built = await rolldown({ input: "entry", plugins: [entry], cwd: import.meta.dirname, external: ["react", "react/jsx-runtime", "@urql/core", "@apollo/client", "rxjs"] });
  const { output } = await built.generate({ minify: true });
  const bytes = ({ code }) => brotliCompressSync(code).length;
  const first = output.filter(({ isEntry }) => isEntry);
  return { code: first[0].code, bytes: bytes(first[0]), onDemand: output.filter((part) => !first.includes(part)).map(bytes) };
}

const CORE = `import { createPlaudit } from "plaudit-client"; globalThis.create = createPlaudit;`;

test("the core is about 6 kB; streams and views are loaded when they are needed", async (context) => {
  const { bytes, onDemand } = await bundle(CORE);
  context.diagnostic(`core ${bytes} bytes, on demand ${onDemand.join(" and ")} bytes`);
  assert.ok(bytes <= MAX_CORE_BYTES, `${bytes} bytes`);
  assert.equal(onDemand.length, 2);
});

test("what a page does not use is not in its bundle", async () => {
  const { code, bytes } = await bundle(`import { Newest } from "plaudit-client"; globalThis.Newest = Newest;`);
  assert.ok(bytes < 400, `${bytes} bytes`);
  assert.ok(!code.includes("WebSocket"));
  const core = await bundle(CORE);
  assert.ok(!core.code.includes("localStorage"), "intents that outlast a reload are of who asks for them");
});

test("the five elements add less than a kilobyte", async (context) => {
  const elements = `import { definePlauditElements } from "plaudit-client/element"; globalThis.define = definePlauditElements;`;
  const added = (await bundle(CORE + elements)).bytes - (await bundle(CORE)).bytes;
  context.diagnostic(`elements ${added} bytes`);
  assert.ok(added <= MAX_ELEMENTS_BYTES, `${added} bytes`);
});
