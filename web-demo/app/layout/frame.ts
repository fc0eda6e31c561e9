import { createContext } from "react";

/** What a page stands in: the browser's tab, or one side of `/two`. */
export interface Frame {
  /** To where one came from. */
  back: () => void;
  entitle: (title: string) => void;
}

export const FrameContext = createContext<Frame>({
  back: () => history.back(),
  entitle: (title) => {
    document.title = `${title} · Plaudit`;
  },
});
