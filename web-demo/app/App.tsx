import { Suspense, lazy, useMemo, useState } from "react";
import { Provider } from "urql";
import { Route, Switch } from "wouter";
import { ApiProvider, createApi } from "../shared/api/client";
import { type Role, type Session } from "../shared/session";
import { Loading } from "../shared/ui/States";
import { Toasts } from "../shared/ui/toasts";
import { Pages } from "./Pages";
import { DrawerProvider } from "./drawer/DrawerProvider";
import { Shell } from "./layout/Shell";
import { switchUser } from "./viewer/chosenUser";
import { NewNotesProvider } from "./notes/newNotes";

const TwoPage = lazy(() => import("./two/TwoPage"));

/** The app of one session. Switching users replaces the client and its cache. */
export function App({ first }: { first: Session | undefined }) {
  const [session, setSession] = useState(first);
  const api = useMemo(() => createApi(session), [session]);
  const switchTo = async (user: string, role: Role) => setSession((await switchUser(user, role)) ?? session);

  return (
    <ApiProvider value={api} key={session?.token}>
      <Provider value={api.client}>
        <Toasts>
          <Suspense fallback={<Loading />}>
            <Switch>
              <Route path="/two" component={TwoPage} />
              <Route>
                <NewNotesProvider>
                  <DrawerProvider>
                    <Shell onSwitch={switchTo}>
                      <Pages />
                    </Shell>
                  </DrawerProvider>
                </NewNotesProvider>
              </Route>
            </Switch>
          </Suspense>
        </Toasts>
      </Provider>
    </ApiProvider>
  );
}
