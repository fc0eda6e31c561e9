import { Suspense, lazy } from "react";
import { Route, Switch } from "wouter";
import { Empty, Loading } from "../shared/ui/States";
import { FeedPage } from "./notes/FeedPage";

/** The code of every page but the feed is loaded when the page is first opened. */
const NotePage = lazy(() => import("./notes/NotePage"));
const HotPage = lazy(() => import("./rankings/HotPage"));
const GroupsPage = lazy(() => import("./groups/GroupsPage"));
const GroupPage = lazy(() => import("./groups/GroupPage"));
const InboxPage = lazy(() => import("./inbox/InboxPage"));
const LikesPage = lazy(() => import("./likes/LikesPage"));
const MePage = lazy(() => import("./users/MePage"));
const UserPage = lazy(() => import("./users/UserPage"));

/** The page of the current address. */
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
          <Empty title="There is nothing at this address.">It may have been removed.</Empty>
        </Route>
      </Switch>
    </Suspense>
  );
}
