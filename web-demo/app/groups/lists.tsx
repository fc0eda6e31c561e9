import { GroupMembersDocument, GroupNotesDocument } from "../../shared/api/generated";
import { Empty } from "../../shared/ui/States";
import { usePages } from "../../shared/lists/usePages";
import { NoteList } from "../notes/NoteList";
import { PeopleList } from "../users/PeopleList";

/** Both lists are read again whenever they appear, because others post and join in the meantime. */
export function GroupNotes({ id }: { id: string }) {
  const { nodes, endless } = usePages(GroupNotesDocument, { id }, (data) => data.group?.notes, "cache-and-network");
  return (
    <NoteList notes={nodes} endless={endless}>
      <Empty title="Nothing here yet.">Members can post notes.</Empty>
    </NoteList>
  );
}

export function GroupMembers({ id }: { id: string }) {
  const { nodes, endless } = usePages(GroupMembersDocument, { id }, (data) => data.group?.members, "cache-and-network");
  return (
    <PeopleList people={nodes} endless={endless}>
      <Empty title="No members yet.">Be the first to join.</Empty>
    </PeopleList>
  );
}
