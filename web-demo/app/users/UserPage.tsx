import { useState } from "react";
import { useQuery } from "urql";
import { useParams } from "wouter";
import { ProfileDocument } from "../../shared/api/generated";
import { Instead } from "../layout/Instead";
import { PageHead } from "../layout/PageHead";
import { ProfileHead } from "./ProfileHead";
import { ProfileTabs, type Tab } from "./ProfileTabs";
import { UserFollowers, UserFollowing, UserGroups, UserNotes } from "./lists";
import { UserListener } from "./live";

/** A user's profile: counts, notes, followers, following, groups. */
export default function UserPage() {
  const { id } = useParams<{ id: string }>();
  return <Profile key={id} id={id} />;
}

const LISTS = { notes: UserNotes, followers: UserFollowers, following: UserFollowing, groups: UserGroups };

function Profile({ id }: { id: string }) {
  const [tab, setTab] = useState<Tab>("notes");
  const [{ data, fetching, error }, run] = useQuery({ query: ProfileDocument, variables: { id } });
  const user = data?.user;
  const retry = () => run({ requestPolicy: "network-only" });
  if (!user) return <Instead title="Profile" isLoading={fetching} error={error} retry={retry} />;

  const List = LISTS[tab];
  return (
    <>
      <PageHead title={user.name} back />
      <UserListener ids={[id]} />
      <ProfileHead user={user} />
      <ProfileTabs user={user} value={tab} onChange={setTab} />
      <List id={id} name={user.name} />
    </>
  );
}
