import { type ReactNode, createContext, lazy, Suspense, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { type Api, useApi } from "../../shared/api/client";

const Drawer = lazy(() => import("./Drawer"));

interface DrawerState {
  isOpen: boolean;
  toggle: () => void;
}

const DrawerContext = createContext<DrawerState>({ isOpen: false, toggle: () => {} });

export const useDrawer = () => useContext(DrawerContext);

interface Props {
  children: ReactNode;
  /** The clients whose traffic the drawer can show; by default that of the page. */
  apis?: Api[];
}

/** Lets its children open the drawer, whose code is loaded when it is first opened. */
export function DrawerProvider({ children, apis }: Props) {
  const own = useApi();
  const [isOpen, setOpen] = useState(false);
  const toggle = useCallback(() => setOpen((open) => !open), []);
  const drawer = useMemo(() => ({ isOpen, toggle }), [isOpen, toggle]);

  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key !== "." || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      toggle();
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [toggle]);

  return (
    <DrawerContext value={drawer}>
      {children}
      {isOpen && (
        <Suspense>
          <Drawer apis={apis ?? [own]} onClose={toggle} />
        </Suspense>
      )}
    </DrawerContext>
  );
}
