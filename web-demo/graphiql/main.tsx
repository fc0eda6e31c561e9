// First, so that GraphiQL's own style comes after it.
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
        // GraphiQL keeps its tabs between visits. On the first visit it shows the linked operation in
        // the first of these; later it adds a tab for it.
        defaultTabs={linked ? [linked, ...examples] : examples}
        initialQuery={linked?.query}
        initialVariables={linked?.variables}
        defaultHeaders={headers}
        defaultEditorToolsVisibility="variables"
        // A token does not belong in the browser's storage, and the history would keep it there too.
        shouldPersistHeaders={false}
        plugins={[]}
        // Its own switch goes before that of the other pages.
        defaultTheme={Theme.chosen()}
      />
    </main>
  </>,
);
