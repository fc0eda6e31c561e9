import { useCallback } from "react";
import {
  GroupMembersDocument,
  GroupNotesDocument,
  type NoteCardFragment,
  type PersonRowFragment,
} from "../../shared/api/generated";
import { Empty } from "../../shared/ui/States";
import { usePages } from "../../shared/lists/usePages";
import { NoteList } from "../notes/NoteList";
import { PeopleList } from "../users/PeopleList";
import { MemberTools } from "./MemberTools";
import { NoteTools } from "./NoteTools";

interface Props {
  id: string;
  /** Whether the viewer may take members and notes out. */
  mayManage: boolean;
}

/** Both lists are read again whenever they appear, because others post and join in the meantime. */
export function GroupNotes({ id, mayManage }: Props) {
  const { nodes, endless } = usePages(GroupNotesDocument, { id }, (data) => data.group?.notes, "cache-and-network");
  const tools = useCallback((note: NoteCardFragment) => <NoteTools groupId={id} note={note} />, [id]);
  return (
    <NoteList notes={nodes} endless={endless} tools={mayManage ? tools : undefined}>
      <Empty title="Nothing here yet.">Members can post notes.</Empty>
    </NoteList>
  );
}

export function GroupMembers({ id, mayManage }: Props) {
  const { nodes, endless } = usePages(GroupMembersDocument, { id }, (data) => data.group?.members, "cache-and-network");
  const tools = useCallback((user: PersonRowFragment) => <MemberTools groupId={id} user={user} />, [id]);
  return (
    <PeopleList people={nodes} endless={endless} tools={mayManage ? tools : undefined}>
      <Empty title="No members yet.">Be the first to join.</Empty>
    </PeopleList>
  );
}
