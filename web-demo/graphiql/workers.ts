import EditorWorker from "monaco-editor/esm/vs/editor/editor.worker.js?worker";
import JsonWorker from "monaco-editor/esm/vs/language/json/json.worker.js?worker";
import GraphQLWorker from "./graphql.worker?worker";

// GraphiQL's own `setup-workers/vite` does the same for a build, but stops the development server.
self.MonacoEnvironment = {
  getWorker(_id, label) {
    switch (label) {
      case "graphql":
        return new GraphQLWorker();
      case "json":
        return new JsonWorker();
      default:
        return new EditorWorker();
    }
  },
};
