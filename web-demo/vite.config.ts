import react from "@vitejs/plugin-react";
import { type Plugin, defineConfig } from "vite";
import { compression } from "vite-plugin-compression2";

/** Where `npm run dev` finds the service: its default address, unless PLAUDIT_URL names another. */
const service = process.env.PLAUDIT_URL ?? "http://127.0.0.1:8080";

const pages = ["app", "admin", "graphiql"];

/** Lets the development server answer the addresses that the service answers with a page. */
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
  plugins: [
    react(),
    addresses,
    // The service sends these as they are; pages are small, and it compresses them itself.
    compression({ algorithms: ["brotli", "gzip"], include: /^assets\/.*\.(js|css|svg|ttf|json)$/, threshold: 1024 }),
  ],
  build: {
    rolldownOptions: {
      // page/index.html becomes dist/page/index.html.
      input: pages.map((page) => `${page}/index.html`),
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
      // Not what is below it, which are modules of the page.
      "^/admin/metrics$": service,
      "/readyz": service,
    },
  },
});
