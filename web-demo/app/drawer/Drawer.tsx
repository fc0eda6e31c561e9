import { Pause, Play, Search, Trash2, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { type Api, ApiProvider, useApi } from "../../shared/api/client";
import { Tabs } from "../controls/Tabs";
import styles from "./Drawer.module.css";
import { FrameRow } from "./FrameRow";
import { OperationRow } from "./OperationRow";
import { SocketState } from "./SocketState";
import { useJournal } from "./useJournal";

/** The page's network traffic; on a page with several users, that of one of them. */
export default function Drawer({ apis, onClose }: { apis: Api[]; onClose: () => void }) {
  const [whose, setWhose] = useState(0);
  const api = apis[whose]!;
  const panel = useRef<HTMLElement>(null);
  useFocus(panel);

  return (
    <aside
      ref={panel}
      className={styles.drawer}
      aria-label="Behind the curtain"
      tabIndex={-1}
      onKeyDown={({ key }) => key === "Escape" && onClose()}
    >
      <header className={styles.head}>
        <h2>Behind the curtain</h2>
        <button className={styles.icon} aria-label="Close" title="Close (Esc)" onClick={onClose}>
          <X size={19} />
        </button>
      </header>
      {apis.length > 1 && (
        <div className={styles.whose}>
          <Tabs
            label="Whose"
            options={apis.map(({ session }, place) => ({ value: place, text: session!.user }))}
            value={whose}
            onChange={setWhose}
          />
        </div>
      )}
      <ApiProvider value={api} key={`${whose} ${api.session?.user}`}>
        <Wire />
      </ApiProvider>
    </aside>
  );
}

/** Operations, and the socket's frames. The newest is on top. */
function Wire() {
  const { journal } = useApi();
  const [part, setPart] = useState<"operations" | "frames">("operations");
  const [paused, setPaused] = useState(false);
  const [words, setWords] = useState("");
  const shown = useJournal(paused);

  const has = (...texts: string[]) => texts.some((text) => text.toLowerCase().includes(words.trim().toLowerCase()));
  const operations = shown.operations.filter(({ kind, name, error, query, variables }) =>
    has(kind, name, error ?? "", query, JSON.stringify(variables)),
  );
  const frames = shown.frames.filter(({ direction, message, text }) => has(direction, message, text));
  const isEmpty = (part === "operations" ? operations : frames).length === 0;

  return (
    <>
      <SocketState />
      <div className={styles.tools}>
        <Tabs
          label="What is shown"
          options={[
            { value: "operations", text: "Operations" },
            { value: "frames", text: "Frames" },
          ]}
          value={part}
          onChange={setPart}
        />
        <button
          className={styles.icon}
          aria-pressed={paused}
          aria-label="Pause"
          title={paused ? "Go on" : "Pause"}
          onClick={() => setPaused(!paused)}
        >
          {paused ? <Play size={18} /> : <Pause size={18} />}
        </button>
        <button
          className={styles.icon}
          aria-label="Clear"
          title="Clear"
          onClick={() => {
            journal.clear();
            setPaused(false);
          }}
        >
          <Trash2 size={18} />
        </button>
        <label className={styles.filter}>
          <Search size={16} aria-hidden="true" />
          <span className="only-heard">Filter</span>
          <input type="search" placeholder="Filter" value={words} onChange={(event) => setWords(event.target.value)} />
        </label>
      </div>
      {isEmpty && <p className={styles.empty}>{words ? "Nothing has these words." : "Nothing yet. Like something."}</p>}
      <ol className={styles.list} tabIndex={0} aria-label={part === "operations" ? "Operations" : "Frames"}>
        {part === "operations"
          ? operations.reverse().map((operation) => <OperationRow key={operation.id} operation={operation} />)
          : frames.reverse().map((frame) => <FrameRow key={frame.id} frame={frame} />)}
      </ol>
    </>
  );
}

/** Moves the focus to the panel when it opens, and back when it closes. */
function useFocus(panel: React.RefObject<HTMLElement | null>) {
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    panel.current?.focus();
    return () => before?.focus();
  }, [panel]);
}
