import { useCallback, useEffect, useRef, useState } from "react";
import { type Progress, storm } from "./storm";

/** Starts and stops a storm, which also stops when the component is unmounted. */
export function useStorm() {
  const [lines, setLines] = useState<Progress[]>([]);
  const [running, setRunning] = useState(false);
  const [problem, setProblem] = useState<string>();
  const controller = useRef<AbortController>(undefined);
  useEffect(() => () => controller.current?.abort(), []);

  const start = useCallback(async (noteIds: string[]) => {
    const { signal } = (controller.current = new AbortController());
    setLines([]);
    setProblem(undefined);
    setRunning(true);
    try {
      for await (const line of storm(noteIds, signal)) setLines((before) => [...before, line]);
    } catch (error) {
      if (!signal.aborted) setProblem((error as Error).message);
    }
    setRunning(false);
  }, []);

  return { lines, running, problem, start, stop: useCallback(() => controller.current?.abort(), []) };
}
