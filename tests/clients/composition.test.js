import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { assertCompositionSuccess, composeServices } from "@theguild/federation-composition";
import { buildSchema, parse } from "graphql";

const plaudit = execFileSync(process.env.PLAUDIT_BIN, ["schema", "--subgraph"], { encoding: "utf8" });

const LINK = 'extend schema @link(url: "https://specs.apollo.dev/federation/v2.5", import: ["@key", "@shareable", "@override"])';

/** The types and fields that clients of the gateway see. */
function composed(posts) {
  const services = Object.entries({ plaudit, posts: `${LINK} ${posts}` }).map(([name, text]) => ({
    name,
    url: `http://${name}.example/graphql`,
    typeDefs: parse(text),
  }));
  const result = composeServices(services);
  assertCompositionSuccess(result);
  return buildSchema(result.publicSdl, { assumeValidSDL: true });
}

test("an app's type keeps its name and reads counts by a stub", () => {
  const schema = composed(/* GraphQL */ `
    type Query { posts: [Post!]! }
    type Post @key(fields: "id") { id: ID! headline: String! counts: Note }
    type Note @key(fields: "key", resolvable: false) { key: String! }
  `);
  assert.equal(String(schema.getType("Post").getFields().counts.type), "Note");
  assert.equal(String(schema.getType("Note").getFields().likeCount.type), "Count!");
  // Null for notes that the app has given no key.
  assert.equal(String(schema.getType("Note").getFields().key.type), "String");
  assert.ok(schema.getSubscriptionType().getFields().noteCountsChanged);
  assert.ok(schema.getMutationType().getFields().likeNote);
});

test("an app adds fields to notes, comments and groups by their keys and ids", () => {
  const schema = composed(/* GraphQL */ `
    type Query { posts: [Post!]! }
    type Post @key(fields: "id") { id: ID! counts: Note }
    type Note @key(fields: "key") { key: String! post: Post }
    type Comment @key(fields: "key") { key: String! language: String }
    type Group @key(fields: "id") { id: ID! motto: String }
  `);
  assert.equal(String(schema.getType("Note").getFields().post.type), "Post");
  assert.ok(schema.getType("Comment").getFields().language && schema.getType("Comment").getFields().likeCount);
  assert.ok(schema.getType("Group").getFields().motto && schema.getType("Group").getFields().memberCount);
});

test("an app's users are those of Plaudit by their subject, with fields that both have", () => {
  const schema = composed(/* GraphQL */ `
    type Query { me: User }
    type User @key(fields: "subject") { subject: String! name: String! @override(from: "plaudit") handle: String }
  `);
  const fields = schema.getType("User").getFields();
  assert.ok(fields.handle && fields.followerCount && fields.viewerIsFollowing);
  assert.equal(String(fields.name.type), "String!");
});

test("an app has pages of its own", () => {
  const schema = composed(/* GraphQL */ `
    type Query { posts: PostConnection! }
    type PostConnection { nodes: [Post!]! pageInfo: PageInfo! }
    type Post @key(fields: "id") { id: ID! counts: Note }
    type Note @key(fields: "key", resolvable: false) { key: String! }
    type PageInfo @shareable { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }
  `);
  assert.equal(String(schema.getType("PageInfo").getFields().hasNextPage.type), "Boolean!");
});
