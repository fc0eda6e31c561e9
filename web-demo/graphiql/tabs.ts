export interface Tab {
  query: string;
  variables?: string;
}

const json = (value: unknown) => JSON.stringify(value, null, 2);

/** The operations that GraphiQL shows on the first visit. */
export function exampleTabs(noteId: string): Tab[] {
  return [
    {
      query: `# The newest notes, their counts, and what you like.
query Feed {
  feed(first: 20) {
    nodes {
      id
      title
      likeCount
      viewerHasLiked
      author {
        id
        name
        followerCount
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}`,
    },
    {
      query: `# Likes a note. Run it again: nothing changes,
# and "changed" says so.
mutation Like($noteId: ID!) {
  likeNote(input: { noteId: $noteId }) {
    changed
    note {
      id
      likeCount
      countsVersion
      viewerHasLiked
    }
  }
}`,
      variables: json({ noteId }),
    },
    {
      query: `# The counts of notes: now, and after every change.
# Let it run, and like the note in a second window.
subscription LiveCounts($noteIds: [ID!]!) {
  noteCountsChanged(noteIds: $noteIds) {
    id
    likeCount
    collectCount
    commentCount
    viewCount
    countsVersion
  }
}`,
      variables: json({ noteIds: [noteId] }),
    },
  ];
}

/** The operation in the page's address: `?query=…&variables=…`. */
export function linkedTab(): Tab | undefined {
  const parameters = new URLSearchParams(location.search);
  const query = parameters.get("query");
  return query ? { query, variables: parameters.get("variables") ?? "" } : undefined;
}
