/** For React: hooks and components. Styles are the app's. */

import type { DetailedHTMLProps, HTMLAttributes } from "react";
import type { PlauditAttributes, PlauditElements } from "../element.js";

export { type ActionState, useCollect, useCounts, useFollow, useIsNear, useJoin, useLike } from "./hooks.js";
export { LikeButton } from "./LikeButton.js";
export { NearScreen } from "./NearScreen.js";
export { PlauditProvider, usePlaudit } from "./provider.js";

type ElementProps = DetailedHTMLProps<HTMLAttributes<HTMLElement>, HTMLElement> & PlauditAttributes;

// The custom elements of `plaudit-client/element`, in JSX.
declare module "react" {
  namespace JSX {
    interface IntrinsicElements extends Record<keyof PlauditElements, ElementProps> {}
  }
}
