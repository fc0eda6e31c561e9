import { type Client, type CombinedError } from "urql";
import { ExportUserDocument } from "../../shared/api/generated";

/** All that is held of a user, one JSON text per record; with an error, what came before it. */
export async function exported(client: Client, userId: string): Promise<{ lines: string[]; error?: CombinedError }> {
  const lines: string[] = [];
  let after: string | null = null;
  do {
    // The type breaks a circle: the next cursor comes from this result.
    const result: Awaited<ReturnType<typeof readPage>> = await readPage(client, userId, after);
    const page = result.data?.exportUser;
    if (!page) return { lines, error: result.error };
    lines.push(...page.nodes.map(({ json }) => json));
    after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
  } while (after !== null);
  return { lines };
}

const readPage = (client: Client, userId: string, after: string | null) =>
  client.query(ExportUserDocument, { userId, after }, { requestPolicy: "network-only" }).toPromise();
