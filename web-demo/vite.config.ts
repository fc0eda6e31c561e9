import react from "@vitejs/plugin-react";
import { type Plugin, defineConfig } from "vite";
import { compression } from "vite-plugin-compression2";

/** Address of the service for `npm run dev`: PLAUDIT_URL, or the default address. */
const service = process.env.PLAUDIT_URL ?? "http://127.0.0.1:8080";

const pages = ["app", "admin", "elements", "graphiql"];

/** Routes of the pages for the development server, as in the service. */
const addresses: Plugin = {
  name: "plaudit-addresses",
  configureServer({ middlewares }) {
    middlewares.use((request, _response, next) => {
      if (request.headers.accept?.includes("text/html")) {
        const first = request.url?.split(/[/?]/)[1];
        const query = request.url?.split("?")[1];
        const page = pages.find((page) => page === first) ?? "app";
        request.url = `/${page}/index.html${query ? `?${query}` : ""}`;
      }
      next();
    });
  },
};

export default defineConfig({
  appType: "mpa",
  // plaudit-client has copies of its own for its tests.
  resolve: { dedupe: ["react", "react-dom", "@urql/core", "wonka", "graphql"] },
  plugins: [
    react(),
    addresses,
    // The service sends these files unchanged; it compresses the small HTML pages itself.
    compression({ algorithms: ["brotli", "gzip"], include: /^assets\/.*\.(js|css|svg|ttf|json)$/, threshold: 1024 }),
  ],
  build: {
    rolldownOptions: {
      // page/index.html becomes dist/page/index.html.
      input: pages.map((page) => `${page}/index.html`),
      // GraphiQL's dependencies have directives for server-side rendering, which this project does not use.
      checks: { moduleLevelDirective: false },
    },
    // Monaco, the editor inside GraphiQL, is one large chunk.
    chunkSizeWarningLimit: 2000,
  },
  optimizeDeps: {
    // Otherwise Vite would discover it only when the page starts its workers, and reload the page.
    include: ["monaco-graphql/esm/graphql.worker.js"],
  },
  server: {
    // The alarms of /admin are read from ops/alerts.yaml.
    fs: { allow: [".."] },
    proxy: {
      "/graphql": { target: service, ws: true },
      "/dev/": service,
      // Only this path: paths below it are modules of the page.
      "^/admin/metrics$": service,
      "/status": service,
    },
  },
});
