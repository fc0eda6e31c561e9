import { Redirect } from "wouter";
import { ForViewer } from "../layout/ForViewer";

/** The viewer's own profile. Before the first action there is no user, and it says so. */
export default function MePage() {
  return (
    <ForViewer what="your profile" title="Profile">
      {({ user }) => <Redirect to={`/user/${user.id}`} replace />}
    </ForViewer>
  );
}
