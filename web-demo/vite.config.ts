import { defineConfig } from "vite";
import { compression } from "vite-plugin-compression2";

/** Where `npm run dev` finds the service. */
const service = "http://127.0.0.1:8080";

export default defineConfig({
  appType: "mpa",
  // The service sends these as they are; pages are small, and it compresses them itself.
  plugins: [
    compression({ algorithms: ["brotli", "gzip"], include: /^assets\/.*\.(js|css|svg|ttf|json)$/, threshold: 1024 }),
  ],
  build: {
    rolldownOptions: {
      // One line per page: page/index.html becomes dist/page/index.html.
      input: ["graphiql/index.html"],
      // GraphiQL's dependencies mark modules for servers that render React. Ours renders nothing.
      checks: { moduleLevelDirective: false },
    },
    // Monaco, the editor inside GraphiQL, is one large chunk.
    chunkSizeWarningLimit: 2000,
  },
  optimizeDeps: {
    // Found only when the page starts its workers, it would reload the page.
    include: ["monaco-graphql/esm/graphql.worker.js"],
  },
  server: {
    proxy: {
      "/graphql": { target: service, ws: true },
      "/dev/": service,
    },
  },
});
