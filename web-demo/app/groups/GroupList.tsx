import { type ComponentProps, type ReactNode } from "react";
import { type GroupRowFragment } from "../../shared/api/generated";
import { LiveList } from "../lists/LiveList";
import { GroupRow } from "./GroupRow";
import { GroupListener } from "./live";

interface Props {
  groups: GroupRowFragment[];
  endless: ComponentProps<typeof LiveList>["endless"];
  /** Shown when the list is empty. */
  children: ReactNode;
}

/** Groups, each with a join button. */
export function GroupList({ groups, endless, children }: Props) {
  return (
    <LiveList items={groups} endless={endless} Listener={GroupListener} empty={children}>
      {(group) => <GroupRow group={group} />}
    </LiveList>
  );
}
