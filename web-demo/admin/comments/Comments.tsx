import { useMemo } from "react";
import { Provider } from "urql";
import { ApiProvider, createApi } from "../../shared/api/client";
import { type Session } from "../../shared/session";
import { Toasts } from "../../shared/ui/toasts";
import { Queue } from "./Queue";

/** The moderation queue, with its own GraphQL client. */
export default function Comments({ session }: { session: Session }) {
  const api = useMemo(() => createApi(session), [session]);
  return (
    <ApiProvider value={api}>
      <Provider value={api.client}>
        <Toasts>
          <Queue />
        </Toasts>
      </Provider>
    </ApiProvider>
  );
}
