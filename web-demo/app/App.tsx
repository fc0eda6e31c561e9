import { Suspense, lazy, useMemo, useState } from "react";
import { Provider } from "urql";
import { Route, Switch } from "wouter";
import { ApiProvider, createApi } from "../shared/api/client";
import { type Session } from "../shared/session";
import { Empty, Loading } from "../shared/ui/States";
import { Toasts } from "../shared/ui/toasts";
import { CurtainProvider } from "./drawer/Curtain";
import { Shell } from "./layout/Shell";
import { choose } from "./layout/chosenUser";
import { FeedPage } from "./notes/FeedPage";
import { ViewsProvider } from "./notes/views";

/** Pages that a first visitor does not see at once are loaded when somebody goes there. */
const NotePage = lazy(() => import("./notes/NotePage"));
const TwoPage = lazy(() => import("./two/TwoPage"));
const HotPage = lazy(() => import("./rankings/HotPage"));
const GroupsPage = lazy(() => import("./groups/GroupsPage"));
const GroupPage = lazy(() => import("./groups/GroupPage"));
const InboxPage = lazy(() => import("./inbox/InboxPage"));
const LikesPage = lazy(() => import("./likes/LikesPage"));
const MePage = lazy(() => import("./users/MePage"));
const UserPage = lazy(() => import("./users/UserPage"));

/** One session: everything below it acts as this user, and forgets everything with it. */
export function App({ first }: { first: Session | undefined }) {
  const [session, setSession] = useState(first);
  const api = useMemo(() => createApi(session), [session]);
  const switchTo = async (user: string) => setSession((await choose(user)) ?? session);

  return (
    <ApiProvider value={api} key={session?.user}>
      <Provider value={api.client}>
        <Toasts>
          <ViewsProvider>
            <Suspense fallback={<Loading />}>
              <Switch>
                <Route path="/two" component={TwoPage} />
                <Route>
                  <CurtainProvider>
                    <Shell onSwitch={switchTo}>
                      <Pages />
                    </Shell>
                  </CurtainProvider>
                </Route>
              </Switch>
            </Suspense>
          </ViewsProvider>
        </Toasts>
      </Provider>
    </ApiProvider>
  );
}

/** What stands in the middle column, by address. */
export function Pages() {
  return (
    <Suspense fallback={<Loading />}>
      <Switch>
        <Route path="/" component={FeedPage} />
        <Route path="/hot" component={HotPage} />
        <Route path="/groups" component={GroupsPage} />
        <Route path="/group/:id" component={GroupPage} />
        <Route path="/inbox" component={InboxPage} />
        <Route path="/likes" component={LikesPage} />
        <Route path="/user/me" component={MePage} />
        <Route path="/user/:id" component={UserPage} />
        <Route path="/note/:id">{({ id }) => <NotePage key={id} noteId={id} />}</Route>
        <Route>
          <Empty title="There is nothing at this address.">Perhaps it was removed.</Empty>
        </Route>
      </Switch>
    </Suspense>
  );
}
