import { Pause, Play, Search, Trash2, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { type Api, ApiProvider, useApi } from "../../shared/api/client";
import { Tabs } from "../controls/Tabs";
import styles from "./Drawer.module.css";
import { FrameRow } from "./FrameRow";
import { OperationRow } from "./OperationRow";
import { SocketState } from "./SocketState";
import { useJournal } from "./useJournal";

/** Shows the network traffic of the page, or of one of its users on the side-by-side page. */
export default function Drawer({ apis, onClose }: { apis: Api[]; onClose: () => void }) {
  const [index, setIndex] = useState(0);
  const api = apis[index]!;
  const panel = useRef<HTMLElement>(null);
  useFocus(panel);

  return (
    <aside
      ref={panel}
      className={styles.drawer}
      aria-label="Network traffic"
      tabIndex={-1}
      onKeyDown={({ key }) => key === "Escape" && onClose()}
    >
      <header className={styles.head}>
        <h2>Network traffic</h2>
        <button className={styles.icon} aria-label="Close" title="Close (Esc)" onClick={onClose}>
          <X size={19} />
        </button>
      </header>
      {apis.length > 1 && (
        <div className={styles.whose}>
          <Tabs
            label="User"
            options={apis.map(({ session }, i) => ({ value: i, text: session!.user }))}
            value={index}
            onChange={setIndex}
          />
        </div>
      )}
      <ApiProvider value={api} key={`${index} ${api.session?.user}`}>
        <Traffic />
      </ApiProvider>
    </aside>
  );
}

/** The operations or the socket's frames, newest first. */
function Traffic() {
  const { journal } = useApi();
  const [list, setList] = useState<"operations" | "frames">("operations");
  const [paused, setPaused] = useState(false);
  const [filter, setFilter] = useState("");
  const journalEntries = useJournal(paused);

  const matches = (...texts: string[]) => texts.some((text) => text.toLowerCase().includes(filter.trim().toLowerCase()));
  const operations = journalEntries.operations.filter(({ kind, name, error, query, variables }) =>
    matches(kind, name, error ?? "", query, JSON.stringify(variables)),
  );
  const frames = journalEntries.frames.filter(({ direction, message, text }) => matches(direction, message, text));
  const isEmpty = (list === "operations" ? operations : frames).length === 0;

  return (
    <>
      <SocketState />
      <div className={styles.tools}>
        <Tabs
          label="List"
          options={[
            { value: "operations", text: "Operations" },
            { value: "frames", text: "Frames" },
          ]}
          value={list}
          onChange={setList}
        />
        <button
          className={styles.icon}
          aria-pressed={paused}
          aria-label="Pause"
          title={paused ? "Resume" : "Pause"}
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
          <input type="search" placeholder="Filter" value={filter} onChange={(event) => setFilter(event.target.value)} />
        </label>
      </div>
      {isEmpty && <p className={styles.empty}>{filter ? "No match." : "Nothing yet. Like something."}</p>}
      <ol className={styles.list} tabIndex={0} aria-label={list === "operations" ? "Operations" : "Frames"}>
        {list === "operations"
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
