// Writes shared/api/generated.ts: types and documents of every .graphql file beside the code.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { globSync } from "tinyglobby";
import { codegen } from "@graphql-codegen/core";
import * as documentNodes from "@graphql-codegen/typed-document-node";
import * as operations from "@graphql-codegen/typescript-operations";
import { parse } from "graphql";

const here = dirname(fileURLToPath(import.meta.url));
const read = (path) => parse(readFileSync(path, "utf8"));

const documents = globSync(["app/**/*.graphql", "admin/**/*.graphql", "shared/**/*.graphql"], { cwd: here })
  .sort()
  .map((path) => ({ location: path, document: read(join(here, path)) }));

const generated = await codegen({
  filename: "generated.ts",
  schema: read(join(here, "../schema/schema.graphql")),
  documents,
  config: {
    useTypeImports: true,
    enumsAsTypes: true,
    avoidOptionals: false,
    dedupeFragments: true,
    // Scalars have their JSON types in TypeScript.
    scalars: { ID: "string", Count: "number", CountsVersion: "number", DateTime: "string", JSON: "unknown", URL: "string", ChangePosition: "string" },
  },
  plugins: [{ operations: {} }, { documentNodes: {} }],
  pluginMap: { operations, documentNodes },
});
writeFileSync(join(here, "shared/api/generated.ts"), generated);
