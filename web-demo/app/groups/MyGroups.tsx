import { MyGroupsDocument } from "../../shared/api/generated";
import { Empty } from "../../shared/ui/States";
import { usePages } from "../../shared/lists/usePages";
import { GroupList } from "./GroupList";

/** The viewer's groups, read again whenever the list appears, because the viewer joins groups on other pages, too. */
export function MyGroups() {
  const { nodes, endless } = usePages(MyGroupsDocument, {}, (data) => data.viewer?.user?.groups, "cache-and-network");
  return (
    <GroupList groups={nodes} endless={endless}>
      <Empty title="No groups yet.">Join one below, or create one.</Empty>
    </GroupList>
  );
}
