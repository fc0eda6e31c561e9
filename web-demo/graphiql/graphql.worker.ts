// A file of its own, so that the development server bundles the worker's CommonJS dependencies.
import "monaco-graphql/esm/graphql.worker.js";
