import { createRoot } from "react-dom/client";
import "../shared/theme.css";

createRoot(document.getElementById("root")!).render(<h1>Operations</h1>);
