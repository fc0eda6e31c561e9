import { useCallback, useRef } from "react";
import { useQuery } from "urql";
import { type GroupRowFragment, HotGroupsDocument, type HotGroupsQuery } from "../../shared/api/generated";
import { Empty } from "../../shared/ui/States";
import { GroupList } from "./GroupList";

/** Groups with hot notes that the viewer had not joined when the page was opened. */
export function HotGroups() {
  const [{ data, fetching, error }, run] = useQuery({ query: HotGroupsDocument });
  const onRetry = useCallback(() => run({ requestPolicy: "network-only" }), [run]);
  const groups = useOtherGroups(data ? groupsOf(data) : []);
  const endless = { hasMore: false, isLoading: fetching, error, onMore: onRetry, onRetry };
  return (
    <GroupList groups={groups} endless={endless}>
      <Empty title="No other groups.">You are a member of every group with a hot note.</Empty>
    </GroupList>
  );
}

/** Each group once, the hottest first. */
function groupsOf({ today, thisWeek, ever }: HotGroupsQuery): GroupRowFragment[] {
  const notes = [today, thisWeek, ever].flatMap((list) => list?.nodes ?? []);
  const groups = notes.flatMap(({ group }) => (group ? [group] : []));
  return [...new Map(groups.map((group) => [group.id, group])).values()];
}

/** Omits the viewer's groups, but keeps a group that was joined here, so that it can be undone. */
function useOtherGroups(groups: GroupRowFragment[]): GroupRowFragment[] {
  const memberships = useRef(new Map<string, boolean>());
  return groups.filter(({ id, viewerIsMember }) => {
    if (!memberships.current.has(id)) memberships.current.set(id, viewerIsMember ?? false);
    return !memberships.current.get(id);
  });
}
