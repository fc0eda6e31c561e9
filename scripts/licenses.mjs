#!/usr/bin/env node
// Writes ops/licenses.txt: what is in the binary and in its pages, with the texts of their licences, for
// `plaudit licenses`. With --check it only compares names and versions with Cargo.lock and package-lock.json; with --sbom
// it prints a bill of materials (CycloneDX 1.5).
//
// Equal texts stand once: lines that name the holder of the copyright are taken out and listed with the package.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dirname, "..");
const file = join(root, "ops/licenses.txt");
const target = "x86_64-unknown-linux-gnu";

/** Crates that are linked into the binary: no crates of builds and tests. */
function crates() {
  const args = ["metadata", "--format-version", "1", "--locked", "--features", "otlp", "--filter-platform", target];
  const metadata = JSON.parse(execFileSync("cargo", args, { cwd: root, maxBuffer: 1 << 28 }));
  const packages = new Map(metadata.packages.map((it) => [it.id, it]));
  const nodes = new Map(metadata.resolve.nodes.map((it) => [it.id, it]));
  const isMacro = (id) => packages.get(id).targets.some((it) => it.kind.includes("proc-macro"));
  const seen = new Set();
  const visit = (id) => {
    if (seen.has(id) || isMacro(id)) return;
    seen.add(id);
    for (const dep of nodes.get(id).deps) {
      if (dep.dep_kinds.some((it) => it.kind === null)) visit(dep.pkg);
    }
  };
  visit(metadata.packages.find((it) => it.name === "plaudit").id);
  return [...seen]
    .map((id) => packages.get(id))
    .filter((it) => it.source)
    .map((it) => ({ name: it.name, version: it.version, license: it.license, registry: "cargo", folder: dirname(it.manifest_path) }));
}

/** Packages of the pages: what package-lock.json has besides tools. */
function npmPackages() {
  const lock = JSON.parse(readFileSync(join(root, "web-demo/package-lock.json"), "utf8"));
  return Object.entries(lock.packages)
    .filter(([path, it]) => path.startsWith("node_modules/") && !it.link) // plaudit-client is Plaudit's own
    .filter(([, it]) => !it.dev && !it.optional && !it.peer)
    .map(([path, it]) => ({
      name: path.split("node_modules/").at(-1),
      version: it.version,
      license: it.license,
      registry: "npm",
      folder: join(root, "web-demo", path),
    }));
}

/** The texts that bind us: where there is a choice, MIT. */
function texts({ folder, license }) {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder);
  const isChoice = /MIT/.test(license) && / OR |\//.test(license) && names.some((name) => /li[cs]en[cs]e.*mit/i.test(name));
  const isText = (name) =>
    isChoice ? /li[cs]en[cs]e.*mit|^notice/i.test(name) : /^(li[cs]en[cs]e|copying|notice|unlicense)/i.test(name);
  const read = (name) => {
    try {
      return readFileSync(join(folder, name), "utf8");
    } catch {
      return ""; // a folder
    }
  };
  return names.filter(isText).sort().map(read).filter((text) => text.trim());
}

const isHolder = (line) =>
  /^\s*(all contributions )?(copyright:?\s+(\(c\)|©|\d{4}|the |by |[A-Z])|\(c\) (copyright|\d{4})|©)/.test(
    line.replace(/copyright/i, "copyright").replace(/\(C\)/, "(c)"),
  ) && !/yyyy/.test(line);

/** A text without holders and line breaks, to find equal ones. */
const key = (text) =>
  text.split("\n").filter((line) => !isHolder(line)).join(" ").replace(/\s+/g, " ").toLowerCase().trim();

const unique = (list) => [...new Map(list.map((it) => [`${it.name} ${it.version}`, it])).values()];
const byName = (a, b) => (`${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1);
const all = [...unique(crates()).sort(byName), ...unique(npmPackages()).sort(byName)];
const list = all.map((it) => `${it.name} ${it.version}`);

if (process.argv.includes("--check")) {
  const written = readFileSync(file, "utf8").split("\n\n=====")[0].split("\n");
  const have = new Set(written.filter((line) => line.startsWith("- ")).map((line) => line.slice(2).split(": ")[0]));
  const wrong = [...list.filter((it) => !have.has(it)), ...[...have].filter((it) => !list.includes(it))];
  if (wrong.length) {
    console.error(`ops/licenses.txt is out of date (run scripts/licenses.mjs): ${wrong.join(", ")}`);
    process.exit(1);
  }
} else if (process.argv.includes("--sbom")) {
  const components = all.map((it) => ({
    type: "library",
    name: it.name,
    version: it.version,
    purl: `pkg:${it.registry}/${it.name.replace("@", "%40")}@${it.version}`,
    licenses: [{ expression: it.license.replaceAll("/", " OR ") }],
  }));
  const [, version] = readFileSync(join(root, "Cargo.toml"), "utf8").match(/^version = "(.*)"/m);
  const component = { type: "application", name: "plaudit", version };
  const bill = { bomFormat: "CycloneDX", specVersion: "1.5", version: 1, metadata: { component }, components };
  console.log(JSON.stringify(bill, null, 1));
} else {
  const known = new Map();
  const lines = all.map((it) => {
    const numbers = texts(it).map((text) => {
      if (!known.has(key(text))) known.set(key(text), { number: known.size + 1, text });
      const holders = text.split("\n").filter(isHolder).map((line) => line.trim());
      return { number: known.get(key(text)).number, holders };
    });
    const holders = [...new Set(numbers.flatMap((it) => it.holders))];
    const refers = numbers.length ? `text ${numbers.map((it) => it.number).join(", ")}` : /MIT/.test(it.license) ? "text 1, without one of its own" : "no text of its own";
    return [`- ${it.name} ${it.version}: ${it.license}; ${refers}`, ...holders.map((line) => `    ${line}`)].join("\n");
  });
  const body = [...known.values()].map(({ number, text }) => {
    const kept = text.split("\n").filter((line) => !isHolder(line)).join("\n").trim();
    return `===== Text ${number}\n\n${kept}`;
  });
  const head = "Plaudit is licensed under MIT or Apache-2.0, at your choice. It contains the following packages.";
  writeFileSync(file, [head, lines.join("\n"), ...body].join("\n\n").replace(/[ \t\r]+$/gm, "") + "\n");
  console.log(`${all.length} packages, ${known.size} texts`);
}
