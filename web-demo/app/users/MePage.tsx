import { Redirect } from "wouter";
import { ForViewer } from "../layout/ForViewer";

/** Where one's own profile will be: a user exists only after the first action. */
export default function MePage() {
  return (
    <ForViewer what="your profile" title="Profile">
      {({ id }) => <Redirect to={`/user/${id}`} replace />}
    </ForViewer>
  );
}
