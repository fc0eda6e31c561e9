// The package as a stranger gets it: the tarball of `make client-package`, installed in an app elsewhere, and bundled.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";

const root = join(import.meta.dirname, "../..");
const client = join(root, "client");
const { build } = await import(createRequire(join(root, "web-demo/package.json")).resolve("vite"));
const readme = readFileSync(join(client, "README.md"), "utf8");
const block = (language) => new RegExp(`\`\`\`${language}\n([^]*?)\n\`\`\``).exec(readme)[1];

const FILES = {
  // The pages of the README; with a bundler, imports name the package.
  "index.html": block("html").replaceAll("/plaudit-client/index.js", "plaudit-client").replaceAll(/\/(plaudit-client\/\w+)\.js/g, "$1"),
  "page.jsx": block("jsx"),
  "react.html": `<!doctype html><div id="root"></div><script type="application/json" id="posts">[]</script><script type="module" src="./page.jsx"></script>`,
  "rendered.jsx": `import { renderToString } from "react-dom/server";
    import { App } from "./page.jsx";
    export const html = (posts) => renderToString(<App posts={posts} />);`,
  "apollo.js": `import { ApolloClient, ApolloLink, InMemoryCache, Observable, gql } from "@apollo/client";
    import { newestLink } from "plaudit-client/apollo";
    const answer = ({ variables: { at } }) => new Observable((observer) => {
      observer.next({ data: { note: { __typename: "Note", id: "note_1", countsVersion: 9 - at, likeCount: 12 - at } } });
      observer.complete();
    });
    const client = new ApolloClient({ cache: new InMemoryCache(), link: ApolloLink.from([newestLink(), new ApolloLink(answer)]) });
    const query = gql("query ($at: Int) { note(at: $at) { __typename id countsVersion likeCount } }");
    export const likes = async (at) => (await client.query({ query, variables: { at } })).data.note.likeCount;`,
};

const { version } = JSON.parse(readFileSync(join(client, "package.json"), "utf8"));
const TARBALL = `target/client/plaudit-client-${version}.tgz`;

let app;
before(() => {
  execFileSync("make", ["-s", "client-package"], { cwd: root, stdio: "pipe" });
  app = mkdtempSync(join(tmpdir(), "plaudit-app-"));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(app, name), text);
  // The frameworks are those of the package's own tests, by their lock file: npm has them in its cache.
  const lock = JSON.parse(readFileSync(join(client, "package-lock.json"), "utf8"));
  const names = ["react", "react-dom", "@apollo/client", "graphql", "rxjs"];
  const dependencies = Object.fromEntries(names.map((name) => [name, lock.packages[`node_modules/${name}`].version]));
  lock.packages[""] = { name: lock.name = "app", dependencies };
  writeFileSync(join(app, "package.json"), JSON.stringify({ name: "app", type: "module", dependencies }));
  writeFileSync(join(app, "package-lock.json"), JSON.stringify(lock));
  cpSync(join(client, ".npmrc"), join(app, ".npmrc"));
  execFileSync("npm", ["install", "--prefer-offline", "--silent", join(root, TARBALL)], { cwd: app });
});
after(() => rmSync(app, { recursive: true, force: true }));

const bundle = (options) => build({ root: app, configFile: false, logLevel: "error", ...options });

/** Imports an entry that was bundled with all that it needs, for Node.js. */
async function bundled(entry) {
  const outDir = join(app, `built-${entry}`);
  await bundle({ ssr: { noExternal: true }, build: { ssr: join(app, entry), outDir, rolldownOptions: { output: { entryFileNames: "entry.js" } } } });
  return import(join(outDir, "entry.js"));
}

test("React has one copy, and hooks and components work", async () => {
  const { output } = await bundle({ build: { write: false, rolldownOptions: { input: join(app, "react.html") } } });
  const copies = output.flatMap(({ modules }) => Object.keys(modules ?? {})).filter((name) => /react\/cjs\/react\.\w+\.js$/.test(name));
  assert.deepEqual(copies, [join(app, "node_modules/react/cjs/react.production.js")]);
  const { html } = await bundled("rendered.jsx");
  const note = { id: "note_7", countsVersion: 5, likeCount: 12, viewerHasLiked: true };
  const page = html([{ key: "post-1", title: "First", author: "ann", note }]);
  assert.match(page, /<button type="button" aria-pressed="true" aria-label="Like First: 12">12<\/button>/);
  assert.match(page, /<button aria-pressed="false">Follow</);
});

test("Apollo Client shows the newest counts", async () => {
  const { likes } = await bundled("apollo.js");
  assert.deepEqual([await likes(1), await likes(3), await likes(0)], [11, 11, 12]);
});

test("the page of plain HTML is bundled, and its parts on demand are files of their own", async () => {
  const { output } = await bundle({ build: { write: false } });
  const scripts = output.filter(({ type }) => type === "chunk");
  assert.ok(scripts.some(({ isEntry, code }) => isEntry && code.includes("customElements.define")));
  assert.deepEqual(scripts.filter(({ isDynamicEntry }) => isDynamicEntry).map(({ name }) => name).sort(), ["stream", "views"]);
});

test("both READMEs name the tarball, and it has what its documents name, and no more", () => {
  for (const text of [readme, readFileSync(join(root, "README.md"), "utf8")]) assert.ok(text.includes(TARBALL));
  const installed = join(app, "node_modules/plaudit-client");
  for (const path of ["README.md", "reference/element.md", "dist/index.d.ts"]) assert.ok(existsSync(join(installed, path)), path);
  for (const page of ["README.md", ...readdirSync(join(installed, "reference")).map((name) => `reference/${name}`)]) {
    for (const [, target] of readFileSync(join(installed, page), "utf8").matchAll(/\]\((?!\w+:)([^)#\s]+)/g)) {
      const path = join(dirname(page), target);
      assert.ok(!path.startsWith("..") && existsSync(join(installed, path)), `${page} links to ${target}`);
    }
  }
  for (const path of ["src", "tests", "dist/.built"]) assert.ok(!existsSync(join(installed, path)), path);
});
