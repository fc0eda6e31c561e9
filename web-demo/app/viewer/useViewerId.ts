import { useViewer } from "./useViewer";

/** Who looks at the page; `undefined` for somebody who is not signed in, or has not done anything yet. */
export const useViewerId = (): string | undefined => useViewer()?.id;
