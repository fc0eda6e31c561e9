import { useMemo } from "react";
import { Provider } from "urql";
import { ApiProvider, createApi } from "../shared/api/client";
import { type Session } from "../shared/session";
import { Toasts } from "../shared/ui/toasts";
import { Queue } from "./review/Queue";
import { Explain } from "./explain/Explain";
import { Reported } from "./reports/Reported";
import styles from "./Operations.module.css";

/** The parts that ask by GraphQL, with their client: the moderation queue, reports, and explanations of numbers. */
export default function WithApi({ session }: { session: Session }) {
  const api = useMemo(() => createApi(session), [session]);
  return (
    <ApiProvider value={api}>
      <Provider value={api.client}>
        <Toasts>
          <div className={styles.cards}>
            <Queue />
            <Reported />
            <Explain />
          </div>
        </Toasts>
      </Provider>
    </ApiProvider>
  );
}
