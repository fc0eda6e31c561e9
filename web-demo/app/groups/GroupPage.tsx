import { useState } from "react";
import { useQuery } from "urql";
import { useParams } from "wouter";
import { useApi } from "../../shared/api/client";
import { GroupDocument } from "../../shared/api/generated";
import { Bar } from "../layout/Bar";
import { Instead } from "../layout/Instead";
import { PageHead } from "../layout/PageHead";
import { Tabs } from "../controls/Tabs";
import { useViewerId } from "../viewer/useViewerId";
import { GroupHead } from "./GroupHead";
import { PostForm } from "./PostForm";
import { GroupMembers, GroupNotes } from "./lists";
import { GroupPageListener } from "./live";

/** A group with its notes and members. */
export default function GroupPage() {
  const { id } = useParams<{ id: string }>();
  return <GroupOf key={id} id={id} />;
}

function GroupOf({ id }: { id: string }) {
  const { session } = useApi();
  const viewerId = useViewerId();
  const [tab, setTab] = useState<"notes" | "members">("notes");
  /** How often the viewer posted: each time the notes are read again. */
  const [posts, setPosts] = useState(0);
  const [{ data, fetching, error }, run] = useQuery({ query: GroupDocument, variables: { id } });
  const group = data?.group;
  const retry = () => run({ requestPolicy: "network-only" });
  if (!group) return <Instead title="Group" isLoading={fetching} error={error} retry={retry} />;

  const isOwner = viewerId !== undefined && group.owner?.id === viewerId;
  const mayManage = isOwner || session?.role === "moderator";
  const mayPost = group.viewerIsMember || isOwner;
  return (
    <>
      <PageHead title={group.name} back />
      <GroupPageListener id={id} />
      <GroupHead group={group} mayManage={mayManage} />
      <Bar>
        <Tabs
          label="What to show"
          options={[
            { value: "notes", text: "Notes" },
            { value: "members", text: "Members" },
          ]}
          value={tab}
          onChange={setTab}
        />
      </Bar>
      {tab === "members" && <GroupMembers id={id} mayManage={mayManage} />}
      {tab === "notes" && (
        <>
          {mayPost && <PostForm groupId={id} name={group.name} onPosted={() => setPosts(posts + 1)} />}
          <GroupNotes key={posts} id={id} mayManage={mayManage} />
        </>
      )}
    </>
  );
}
