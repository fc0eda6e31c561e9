import { useCallback, useRef } from "react";
import { useQuery } from "urql";
import { type GroupRowFragment, HotGroupsDocument, type HotGroupsQuery } from "../../shared/api/generated";
import { Empty } from "../../shared/ui/States";
import { GroupList } from "./GroupList";

/** Groups with hot notes of which the viewer was no member when the page was opened. */
export function HotGroups() {
  const [{ data, fetching, error }, run] = useQuery({ query: HotGroupsDocument });
  const onRetry = useCallback(() => run({ requestPolicy: "network-only" }), [run]);
  const groups = useStrangers(data ? groupsOf(data) : []);
  const endless = { hasMore: false, isLoading: fetching, error, onMore: onRetry, onRetry };
  return (
    <GroupList groups={groups} endless={endless}>
      <Empty title="You are everywhere already.">Every group with something hot in it is one of yours.</Empty>
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
function useStrangers(groups: GroupRowFragment[]): GroupRowFragment[] {
  const known = useRef(new Map<string, boolean>());
  return groups.filter(({ id, viewerIsMember }) => {
    if (!known.current.has(id)) known.current.set(id, viewerIsMember ?? false);
    return !known.current.get(id);
  });
}
