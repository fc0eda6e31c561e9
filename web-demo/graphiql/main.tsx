// Imported first, so that GraphiQL's styles override it.
import "../shared/theme.css";
import { GraphiQL } from "graphiql";
import "graphiql/style.css";
import { createRoot } from "react-dom/client";
import { developmentSession } from "../shared/session";
import { Theme } from "../shared/ui/theme";
import { Bar } from "./Bar";
import { fetcher } from "./fetcher";
import "./page.css";
import { exampleTabs, linkedTab } from "./tabs";
import "./workers";

const session = await developmentSession();
const headers = session && JSON.stringify({ Authorization: `Bearer ${session.token}` }, null, 2);
const linked = linkedTab();
const examples = exampleTabs(session?.noteId ?? "note_1");

createRoot(document.getElementById("root")!).render(
  <>
    <Bar />
    <main>
      <GraphiQL
        fetcher={fetcher}
        // GraphiQL keeps its tabs between visits. On the first visit the linked operation is the first
        // tab; on later visits GraphiQL adds a tab for it.
        defaultTabs={linked ? [linked, ...examples] : examples}
        initialQuery={linked?.query}
        initialVariables={linked?.variables}
        defaultHeaders={headers}
        defaultEditorToolsVisibility="variables"
        // The browser's storage must not contain tokens; the history plugin would store them, too.
        shouldPersistHeaders={false}
        plugins={[]}
        // The default; GraphiQL's own theme setting takes precedence.
        defaultTheme={Theme.chosen()}
      />
    </main>
  </>,
);
