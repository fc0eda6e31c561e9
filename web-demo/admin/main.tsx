import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "../shared/theme.css";
import { developmentSession } from "../shared/session";
import { Theme } from "../shared/ui/theme";
import { App } from "./App";

Theme.restore();
const session = await developmentSession("moderator", "moderator");

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App first={session} />
  </StrictMode>,
);
