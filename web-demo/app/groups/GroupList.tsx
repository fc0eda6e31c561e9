import { type ComponentProps, type ReactNode } from "react";
import { type GroupRowFragment } from "../../shared/api/generated";
import { LiveList } from "../lists/LiveList";
import { GroupRow } from "./GroupRow";
import { GroupListener } from "./live";

interface Props {
  groups: GroupRowFragment[];
  endless: ComponentProps<typeof LiveList>["endless"];
  /** What stands there when there are none. */
  children: ReactNode;
}

/** Groups, each with a way to join. */
export function GroupList({ groups, endless, children }: Props) {
  return (
    <LiveList items={groups} endless={endless} Listener={GroupListener} empty={children}>
      {(group) => <GroupRow group={group} />}
    </LiveList>
  );
}
