import { House } from "lucide-react";
import { Suspense, useEffect, useMemo, useRef } from "react";
import { Provider } from "urql";
import { Link, Router } from "wouter";
import { type Api, ApiProvider } from "../../shared/api/client";
import { Loading } from "../../shared/ui/States";
import { Pages } from "../Pages";
import { FrameContext } from "../layout/frame";
import { NewNotesProvider } from "../notes/newNotes";
import styles from "./Pane.module.css";
import { type Side, type Stopwatch } from "./Stopwatch";
import { Who } from "./Who";
import { paneLocation } from "./paneLocation";

interface Props {
  side: Side;
  api: Api;
  stopwatch: Stopwatch;
  onSwitch: (user: string) => void;
}

/** The app of one of two users, with its own cache, socket and location. */
export function Pane({ side, api, stopwatch, onSwitch }: Props) {
  const { user } = api.session!;
  const location = useMemo(() => paneLocation(), []);
  return (
    <ApiProvider value={api}>
      <Provider value={api.client}>
        <NewNotesProvider>
          <Router hook={location.hook} searchHook={location.searchHook}>
            <FrameContext value={location.frame}>
              <section
                className={`${styles.pane} ${styles[side]}`}
                aria-label={`${side === "left" ? "Left" : "Right"} side, ${user}`}
                onClickCapture={({ timeStamp }) => stopwatch.click(side, timeStamp)}
              >
                <div className={styles.head}>
                  <Who label={`Who is on the ${side}`} user={user} onSwitch={onSwitch} />
                  <Link href="/" aria-label="Feed" title="Feed" className={styles.home}>
                    <House size={19} />
                  </Link>
                </div>
                <Page usePath={location.usePath} />
              </section>
            </FrameContext>
          </Router>
        </NewNotesProvider>
      </Provider>
    </ApiProvider>
  );
}

/** The page of one side, which scrolls independently. A new page starts at the top. */
function Page({ usePath }: { usePath: () => string }) {
  const path = usePath();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.scrollTo(0, 0);
  }, [path]);
  return (
    <div ref={place} className={styles.page}>
      <Suspense fallback={<Loading />}>
        <Pages />
      </Suspense>
    </div>
  );
}
