import { GroupMembersDocument, GroupNotesDocument } from "../../shared/api/generated";
import { Empty } from "../../shared/ui/States";
import { usePages } from "../../shared/lists/usePages";
import { NoteList } from "../notes/NoteList";
import { PeopleList } from "../users/PeopleList";

/** Both lists are read again whenever they appear, because others post and join meanwhile. */
export function GroupNotes({ id }: { id: string }) {
  const { nodes, endless } = usePages(GroupNotesDocument, { id }, (data) => data.group?.notes, "cache-and-network");
  return (
    <NoteList notes={nodes} endless={endless}>
      <Empty title="Nothing here yet.">The first note is the hardest. Members can write it.</Empty>
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
