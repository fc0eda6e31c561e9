import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "../shared/theme.css";
import { Theme } from "../shared/ui/theme";
import { App } from "./App";
import { chosenSession } from "./viewer/chosenUser";

Theme.restore();
const session = await chosenSession();

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App first={session} />
  </StrictMode>,
);
