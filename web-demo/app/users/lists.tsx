import {
  UserFollowersDocument,
  UserFollowingDocument,
  UserGroupsDocument,
  UserNotesDocument,
} from "../../shared/api/generated";
import { Empty } from "../../shared/ui/States";
import { GroupList } from "../groups/GroupList";
import { usePages } from "../../shared/lists/usePages";
import { NoteList } from "../notes/NoteList";
import { Unpublished } from "../notes/Unpublished";
import { useViewer } from "../viewer/useViewer";
import { PeopleList } from "./PeopleList";

interface Props {
  id: string;
  name: string;
}

export function UserNotes({ id, name }: Props) {
  const viewer = useViewer();
  const { nodes, endless } = usePages(UserNotesDocument, { id }, (data) => data.user?.notes);
  return (
    <>
      {viewer?.id === id && <Unpublished />}
      <NoteList notes={nodes} endless={endless}>
        <Empty title="No notes yet.">Notes of {name} appear here.</Empty>
      </NoteList>
    </>
  );
}

/** Read again whenever they appear, because others follow in the meantime. */
export function UserFollowers({ id, name }: Props) {
  const { nodes, endless } = usePages(UserFollowersDocument, { id }, (data) => data.user?.followers, "cache-and-network");
  return (
    <PeopleList people={nodes} endless={endless}>
      <Empty title="No followers yet.">Users who follow {name} appear here.</Empty>
    </PeopleList>
  );
}

export function UserFollowing({ id, name }: Props) {
  const { nodes, endless } = usePages(UserFollowingDocument, { id }, (data) => data.user?.following, "cache-and-network");
  return (
    <PeopleList people={nodes} endless={endless}>
      <Empty title="Follows nobody yet.">Users whom {name} follows appear here.</Empty>
    </PeopleList>
  );
}

export function UserGroups({ id, name }: Props) {
  const { nodes, endless } = usePages(UserGroupsDocument, { id }, (data) => data.user?.groups, "cache-and-network");
  return (
    <GroupList groups={nodes} endless={endless}>
      <Empty title="No groups yet.">Groups that {name} joins appear here.</Empty>
    </GroupList>
  );
}
