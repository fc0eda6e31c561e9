import { memoryLocation } from "wouter/memory-location";
import { type Frame } from "../layout/frame";

/** A location of its own for each side, apart from the browser's address. */
export function paneLocation() {
  const { hook, searchHook, navigate, history } = memoryLocation({ path: "/", record: true });

  const frame: Frame = {
    back() {
      if (history.length > 1) history.pop();
      navigate(history.at(-1)!, { replace: true });
    },
    // The tab's title covers both sides.
    entitle() {},
  };
  const usePath = () => hook()[0].split("#")[0]!;
  return { frame, usePath, searchHook, hook: (): ReturnType<typeof hook> => [usePath(), hook()[1]] };
}
