import { Suspense, lazy, useEffect, useMemo, useSyncExternalStore } from "react";
import { createTokens } from "plaudit-client";
import { type Session, tokenOf } from "../shared/session";
import { Dashboard } from "./Dashboard";
import { TopBar } from "./layout/TopBar";
import styles from "./Operations.module.css";
import { Monitor } from "./metrics/monitor";
import { MonitorContext } from "./metrics/useMonitor";

/** Loaded separately, because only these parts need the GraphQL client. */
const WithApi = lazy(() => import("./WithApi"));

/** The whole page, for moderators. */
export function Operations({ session, onLeave }: { session: Session; onLeave: (problem?: string) => void }) {
  const monitor = useMonitor(session);
  const monitorState = useSyncExternalStore(monitor.listen, () => monitor.current);
  const { state } = monitorState;
  useEffect(() => {
    if (state === "unauthenticated") onLeave("The server refused this token: it has expired, or another server issued it.");
    if (state === "forbidden") onLeave("This token is not a moderator’s: it needs the role moderator.");
  }, [state, onLeave]);

  return (
    <MonitorContext value={monitorState}>
      <TopBar user={session.user} onLeave={() => onLeave()} />
      <main id="main" tabIndex={-1} className={styles.main}>
        <Dashboard />
        {/* Rendered after the numbers, which would push it down. */}
        {monitorState.readings && (
          <div id="review" tabIndex={-1} className={styles.review}>
            <Suspense>
              <WithApi session={session} />
            </Suspense>
          </div>
        )}
      </main>
    </MonitorContext>
  );
}

/** Runs while the page is mounted. */
function useMonitor(session: Session): Monitor {
  const monitor = useMemo(() => new Monitor(createTokens(tokenOf(session))), [session]);
  useEffect(() => monitor.start(), [monitor]);
  return monitor;
}
