import { ArrowLeft } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { Link } from "wouter";
import { type Api, createApi, useApi } from "../../shared/api/client";
import { type Session, developmentSession } from "../../shared/session";
import { Empty, Loading } from "../../shared/ui/States";
import { DrawerProvider } from "../drawer/DrawerProvider";
import { DrawerButton } from "../drawer/DrawerButton";
import { StormPanel } from "../storm/StormPanel";
import { Delays } from "./Delays";
import { Pane } from "./Pane";
import { type Side, Stopwatch } from "./Stopwatch";
import styles from "./TwoPage.module.css";
import { twoSessions } from "./two";

const SIDES: Side[] = ["left", "right"];

/** Two users side by side: an action of one shows on the other's side. */
export default function TwoPage() {
  const { session } = useApi();
  const stopwatch = useMemo(() => new Stopwatch(), []);
  const [apis, setApis] = useState<Record<Side, Api> | "none">();
  const isReady = typeof apis === "object";

  useEffect(() => {
    document.title = "Side by side · Plaudit";
    // Sessions that arrive after the effect was cleaned up would replace clients that are in use.
    let isCurrent = true;
    const open = (side: Side, session: Session) => createApi(session, stopwatch.exchange(side));
    twoSessions(session?.user).then((both) => {
      if (isCurrent) setApis(both ? { left: open("left", both.left), right: open("right", both.right) } : "none");
    });
    return () => {
      isCurrent = false;
    };
  }, [session, stopwatch]);

  async function switchTo(side: Side, user: string) {
    const next = await developmentSession(user);
    if (!next) return;
    const api = createApi(next, stopwatch.exchange(side));
    setApis((both) => (both && both !== "none" ? { ...both, [side]: api } : both));
  }

  return (
    <DrawerProvider apis={isReady ? SIDES.map((side) => apis[side]) : undefined}>
      <div className={styles.page}>
        <header className={styles.head}>
          <Link href="/" aria-label="Back to the feed" className={styles.back}>
            <ArrowLeft size={20} />
          </Link>
          <h1>Side by side</h1>
          <p>Two users, each with their own connection. Like a note on one side and watch the other side change.</p>
          <span className={styles.curtain}>
            <DrawerButton />
          </span>
        </header>
        <main className={styles.main}>
          {apis === undefined && <Loading />}
          {apis === "none" && <NeedsDevelopment />}
          {isReady && (
            <>
              {SIDES.map((side) => (
                <Pane
                  key={side + apis[side].session!.user}
                  side={side}
                  api={apis[side]}
                  stopwatch={stopwatch}
                  onSwitch={(user) => switchTo(side, user)}
                />
              ))}
              <div className={styles.delays}>
                <Delays stopwatch={stopwatch} />
              </div>
              <div className={styles.storm}>
                <StormPanel />
              </div>
            </>
          )}
        </main>
      </div>
    </DrawerProvider>
  );
}

function NeedsDevelopment() {
  return (
    <Empty title="This page needs a development server.">
      It acts as two users at once, and only a development server issues tokens for any user.
      <br />
      Start one with <code>make run</code> and reload the page.
    </Empty>
  );
}
