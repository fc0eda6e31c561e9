import { NearScreen } from "plaudit-client/react";
import { type ComponentProps, type ComponentType, type ReactNode } from "react";
import { Endless } from "../../shared/lists/Endless";
import styles from "./LiveList.module.css";
import { chunks } from "./chunks";

interface Props<Item> {
  items: Item[];
  endless: Omit<ComponentProps<typeof Endless>, "children">;
  /** Renders nothing; keeps the counts of these ids (at most 100) live while it is mounted. */
  Listener: ComponentType<{ ids: string[] }>;
  /** Shown when the list is empty. */
  empty: ReactNode;
  children: (item: Item) => ReactNode;
}

/** An endless list of rows with live counts. */
export function LiveList<Item extends { id: string }>({ items, endless, Listener, empty, children }: Props<Item>) {
  const isEmpty = items.length === 0 && !endless.isLoading && !endless.error;
  return (
    <Endless {...endless}>
      {isEmpty && empty}
      {chunks(items).map((chunk) => (
        <NearScreen key={chunk[0]!.id} as="ul">
          <Listener ids={chunk.map(({ id }) => id)} />
          {chunk.map((item) => (
            <li key={item.id} className={styles.row}>
              {children(item)}
            </li>
          ))}
        </NearScreen>
      ))}
    </Endless>
  );
}
