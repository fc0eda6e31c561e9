import { type ComponentProps, type ComponentType, type ReactNode } from "react";
import { Endless } from "../../shared/lists/Endless";
import { WhileNear } from "../../shared/lists/WhileNear";
import styles from "./LiveList.module.css";
import { chunks } from "./chunks";

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
        <WhileNear key={chunk[0]!.id} as="ul" listener={<Listener ids={chunk.map(({ id }) => id)} />}>
          {chunk.map((item) => (
            <li key={item.id} className={styles.row}>
              {children(item)}
            </li>
          ))}
        </WhileNear>
      ))}
    </Endless>
  );
}
