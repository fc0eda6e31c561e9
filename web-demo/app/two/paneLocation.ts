import { memoryLocation } from "wouter/memory-location";
import { type Frame } from "../layout/frame";

/** A location for one side, independent of the browser's address. */
export function paneLocation() {
  const { hook, searchHook, navigate, history } = memoryLocation({ path: "/", record: true });

  const frame: Frame = {
    back() {
      if (history.length > 1) history.pop();
      navigate(history.at(-1)!, { replace: true });
    },
    // The tab's title covers both sides.
    setTitle() {},
  };
  const usePath = () => hook()[0].split("#")[0]!;
  return { frame, usePath, searchHook, hook: (): ReturnType<typeof hook> => [usePath(), hook()[1]] };
}
