// Writes reference/: what each entry of the package exports, from the compiled types with their comments.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const ENTRIES = {
  index: ["plaudit-client", "dist/index.d.ts"],
  element: ["plaudit-client/element", "dist/element.d.ts"],
  react: ["plaudit-client/react", "dist/react/index.d.ts"],
  urql: ["plaudit-client/urql", "dist/urql.d.ts"],
  apollo: ["plaudit-client/apollo", "dist/apollo.d.ts"],
};

/** Of the core, what few need: on a page of its own. */
const RARE = ["Payload", "Result", "Sink", "Keep", "Storage", "ConnectionState", "GivenToken", "Token", "Tokens", "createTokens", "CountName", "Counts", "Latest", "Newest", "GraphQLProblem"];

const read = (path) => readFileSync(join(here, path), "utf8");

/** Declarations of a file: each with its comment, by name. */
function declarations(text) {
  const found = new Map();
  const start = /^((?:\/\*\*(?:[^*]|\*(?!\/))*\*\/\n)?)(?:export )?(?:declare )?(interface|type|const|function|class) (\w+)/gm;
  const begins = [...text.matchAll(start)];
  begins.forEach((match, at) => {
    const rest = text.slice(match.index, begins[at + 1]?.index).trim();
    found.set(match[3], rest.replace(/^export \{.*$/gms, "").replace(/^export (declare )?/m, "").trim());
  });
  return found;
}

/** What a file exports: names with their declarations, also of what it exports again. */
function exported(path) {
  const text = read(path);
  const own = declarations(text);
  const all = [];
  for (const [, names, from] of text.matchAll(/^export (?:type )?\{([^}]*)\}(?: from "(.*)")?;/gm)) {
    const there = from ? declarations(read(join(dirname(path), from.replace(/\.js$/, ".d.ts")))) : own;
    for (const name of names.split(",").map((name) => name.trim().replace(/^type /, ""))) if (name) all.push([name, there.get(name)]);
  }
  for (const [, name] of text.matchAll(/^export (?:declare )?(?:interface|type|const|function|class) (\w+)/gm)) all.push([name, own.get(name)]);
  return all;
}

function page(title, parts) {
  const blocks = parts.map(([name, text]) => {
    if (!text) throw new Error(`there is no declaration of ${name}`);
    return `\`\`\`ts\n${text}\n\`\`\`\n`;
  });
  return `# ${title}\n\nMade from the types by \`client/reference.mjs\`.\n\n${blocks.join("\n")}`;
}

/** Texts of the pages, by their paths. */
export function reference() {
  return Object.entries(ENTRIES).flatMap(([file, [name, path]]) => {
    const all = exported(path);
    const [usual, rare] = [all.filter(([name]) => !RARE.includes(name)), all.filter(([name]) => RARE.includes(name))];
    const pages = [[`reference/${file}.md`, page(name, usual)]];
    if (rare.length > 0) pages.push([`reference/${file}-parts.md`, page(`${name}: parts`, rare)]);
    return pages;
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(join(here, "reference"), { recursive: true });
  for (const [path, text] of reference()) writeFileSync(join(here, path), text);
}
