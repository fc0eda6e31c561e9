import { useViewer } from "./useViewer";

/** Id of the viewer; `undefined` if nobody is signed in, or before the viewer's first action. */
export const useViewerId = (): string | undefined => useViewer()?.id;
