import { createContext } from "react";

/** The surroundings of a page: the browser's tab, or one side of `/two`. */
export interface Frame {
  /** Returns to the previous page. */
  back: () => void;
  setTitle: (title: string) => void;
}

export const FrameContext = createContext<Frame>({
  back: () => history.back(),
  setTitle: (title) => {
    document.title = `${title} · Plaudit`;
  },
});
