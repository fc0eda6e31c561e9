/** For React: hooks and components. Styles are the app's. */

export { type ActionState, useCollect, useCounts, useFollow, useIsNear, useJoin, useLike } from "./hooks.js";
export { LikeButton } from "./LikeButton.js";
export { NearScreen } from "./NearScreen.js";
export { PlauditProvider, usePlaudit } from "./provider.js";
