import { ArrowLeft } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { Link } from "wouter";
import { useApi } from "../../shared/api/client";
import { type Session, developmentSession } from "../../shared/session";
import { Empty, Loading } from "../../shared/ui/States";
import { StormPanel } from "../storm/StormPanel";
import { Delays } from "./Delays";
import { Pane } from "./Pane";
import { type Side, Stopwatch } from "./Stopwatch";
import styles from "./TwoPage.module.css";
import { twoSessions } from "./two";

const SIDES: Side[] = ["left", "right"];

/** Two users next to each other, so that one sees what one does arrive at the other. */
export default function TwoPage() {
  const { session } = useApi();
  const stopwatch = useMemo(() => new Stopwatch(), []);
  const [sessions, setSessions] = useState<Record<Side, Session> | "none">();

  useEffect(() => {
    document.title = "Side by side · Plaudit";
    twoSessions(session?.user).then((both) => setSessions(both ?? "none"));
  }, [session]);

  async function switchTo(side: Side, user: string) {
    const next = await developmentSession(user);
    if (next) setSessions((both) => (both && both !== "none" ? { ...both, [side]: next } : both));
  }

  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <Link href="/" aria-label="Back to the feed" className={styles.back}>
          <ArrowLeft size={20} />
        </Link>
        <h1>Side by side</h1>
        <p>Two people, each with a connection of their own. Like something here, and watch it arrive there.</p>
      </header>
      <main className={styles.main}>
        {sessions === undefined && <Loading />}
        {sessions === "none" && <NeedsDevelopment />}
        {typeof sessions === "object" && (
          <>
            {SIDES.map((side) => (
              <Pane
                key={side + sessions[side].user}
                side={side}
                session={sessions[side]}
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
  );
}

function NeedsDevelopment() {
  return (
    <Empty title="This page needs a development server.">
      It acts as two people at once, and only such a server hands out the tokens for that.
      <br />
      Run one on your own machine with <code>make run</code>, and look again.
    </Empty>
  );
}
