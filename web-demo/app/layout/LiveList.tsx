import { type ComponentProps, type ComponentType, type ReactNode, useRef } from "react";
import { Endless } from "../../shared/lists/Endless";
import styles from "./LiveList.module.css";
import { chunks } from "./chunks";
import { useInView } from "../../shared/lists/useInView";

interface Props<Item> {
  items: Item[];
  endless: Omit<ComponentProps<typeof Endless>, "children">;
  /** Draws nothing, and keeps the counts of these (at most 100) live while it is there. */
  Listener: ComponentType<{ ids: string[] }>;
  /** What stands there when there are none. */
  empty: ReactNode;
  children: (item: Item) => ReactNode;
}

/** Rows whose numbers are live, for as long as one scrolls. */
export function LiveList<Item extends { id: string }>({ items, endless, Listener, empty, children }: Props<Item>) {
  const isEmpty = items.length === 0 && !endless.isLoading && !endless.error;
  return (
    <Endless {...endless}>
      {isEmpty && empty}
      {chunks(items).map((chunk) => (
        <Chunk key={chunk[0]!.id} ids={chunk.map(({ id }) => id)} Listener={Listener}>
          {chunk.map((item) => (
            <li key={item.id} className={styles.row}>
              {children(item)}
            </li>
          ))}
        </Chunk>
      ))}
    </Endless>
  );
}

interface ChunkProps {
  ids: string[];
  Listener: ComponentType<{ ids: string[] }>;
  children: ReactNode;
}

function Chunk({ ids, Listener, children }: ChunkProps) {
  const place = useRef<HTMLUListElement>(null);
  const isNear = useInView(place, "200px");
  return (
    <ul ref={place}>
      {isNear && <Listener ids={ids} />}
      {children}
    </ul>
  );
}
