import { useRef } from "react";
import { type GroupRowFragment, GroupsDocument } from "../../shared/api/generated";
import { usePages } from "../../shared/lists/usePages";
import { Empty } from "../../shared/ui/States";
import { GroupList } from "./GroupList";

/** Groups by their members, without those that the viewer had joined when the page was opened. */
export function LargestGroups() {
  const { nodes, endless } = usePages(GroupsDocument, {}, (data) => data.groups, "cache-and-network");
  return (
    <GroupList groups={useOtherGroups(nodes)} endless={endless}>
      <Empty title="No other groups.">You are a member of every group.</Empty>
    </GroupList>
  );
}

/** Omits the viewer's groups, but keeps a group that was joined here, so that it can be undone. */
function useOtherGroups(groups: GroupRowFragment[]): GroupRowFragment[] {
  const memberships = useRef(new Map<string, boolean>());
  return groups.filter(({ id, viewerIsMember }) => {
    if (!memberships.current.has(id)) memberships.current.set(id, viewerIsMember ?? false);
    return !memberships.current.get(id);
  });
}
