import { MyGroupsDocument } from "../../shared/api/generated";
import { Empty } from "../../shared/ui/States";
import { usePages } from "../../shared/lists/usePages";
import { GroupList } from "./GroupList";

/** Read again whenever it appears: the viewer joins groups on other pages, too. */
export function MyGroups() {
  const { nodes, endless } = usePages(MyGroupsDocument, {}, (data) => data.viewer?.groups, "cache-and-network");
  return (
    <GroupList groups={nodes} endless={endless}>
      <Empty title="No groups yet.">Join one below, or begin one of your own.</Empty>
    </GroupList>
  );
}
