// Test data created through the API: users, groups and notes that no other test uses.

import { baseUrl, developmentToken, send } from "./browser.js";

let made = 0;

/** A unique name, also if the tests run twice on the same data. */
export function newName(name) {
  made += 1;
  return `${name}.${Date.now().toString(36)}${made}`;
}

/** As `user`; on the server under test, or on another one. */
async function act(user, query, variables, origin = baseUrl) {
  return send(query, await developmentToken(user, "user", origin), variables, origin);
}

/** Writes a note. Its id, its title, and its author's id. */
export async function makeNote(user, origin) {
  const query = `mutation ($title: String!) {
    createNote(input: { title: $title, body: "Something to talk about." }) { note { id title author { id } } }
  }`;
  const { note } = (await act(user, query, { title: newName("Note") }, origin)).createNote;
  return { id: note.id, title: note.title, authorId: note.author.id };
}

/** The user's id: a first action, such as a note, makes somebody a user. */
export const makeUser = async (user) => (await makeNote(user)).authorId;

/** The group's id and name. */
export async function makeGroup(user) {
  const query = "mutation ($name: String!) { createGroup(input: { name: $name }) { group { id name } } }";
  return (await act(user, query, { name: newName("Group") })).createGroup.group;
}

/** Comments on a note, until everybody sees that: a moderator judges it first. */
export async function comment(user, noteId, body) {
  const query = `mutation ($noteId: ID!, $body: String!) {
    addComment(input: { noteId: $noteId, body: $body }) { comment { id } }
  }`;
  await act(user, query, { noteId, body });
  while (!(await commentsOf(noteId)).includes(body));
}

/** The texts that stand below a note. */
export async function commentsOf(noteId) {
  const query = "query ($id: ID!) { note(id: $id) { comments(sort: NEWEST) { nodes { body } } } }";
  return (await act("mira.okafor", query, { id: noteId })).note.comments.nodes.map(({ body }) => body);
}

export const like = (user, noteId) =>
  act(user, "mutation ($id: ID!) { likeNote(input: { noteId: $id }) { changed } }", { id: noteId });

export const follow = (user, userId) =>
  act(user, "mutation ($id: ID!) { follow(input: { userId: $id }) { changed } }", { id: userId });
