// Test data, created through the API: users, groups and notes that no other test uses.

import { baseUrl, developmentToken, send } from "./browser.js";

let nameCount = 0;

/** A unique name, even if the tests run twice on the same data. */
export function newName(name) {
  nameCount += 1;
  return `${name}.${Date.now().toString(36)}${nameCount}`;
}

/** Sends an operation as `user` to the server at `origin`. */
async function sendAs(user, query, variables, origin = baseUrl) {
  return send(query, await developmentToken(user, "user", origin), variables, origin);
}

/** Creates a note; returns its id, its title and its author's id. */
export async function createNote(user, origin) {
  const query = `mutation ($title: String!) {
    createNote(input: { title: $title, body: "Something to talk about." }) { note { id title author { id } } }
  }`;
  const { note } = (await sendAs(user, query, { title: newName("Note") }, origin)).createNote;
  return { id: note.id, title: note.title, authorId: note.author.id };
}

/** Creates a user by a first action, a note; returns the user's id. */
export const createUser = async (user) => (await createNote(user)).authorId;

/** Creates a group; returns its id and name. */
export async function createGroup(user) {
  const query = "mutation ($name: String!) { createGroup(input: { name: $name }) { group { id name } } }";
  return (await sendAs(user, query, { name: newName("Group") })).createGroup.group;
}

/** Joins a group and posts a note in it; returns the note's id and title. */
export async function postIn(groupId, user) {
  await sendAs(user, "mutation ($id: ID!) { joinGroup(input: { groupId: $id }) { changed } }", { id: groupId });
  const query = `mutation ($groupId: ID!, $title: String!) {
    createNote(input: { groupId: $groupId, title: $title, body: "For all members." }) { note { id title } }
  }`;
  return (await sendAs(user, query, { groupId, title: newName("Note") })).createNote.note;
}

/** Comments on a note and waits until moderation has published the comment. */
export async function comment(user, noteId, body) {
  const query = `mutation ($noteId: ID!, $body: String!) {
    addComment(input: { noteId: $noteId, body: $body }) { comment { id } }
  }`;
  await sendAs(user, query, { noteId, body });
  while (!(await commentsOf(noteId)).includes(body));
}

/** Texts of the published comments on a note. */
export async function commentsOf(noteId) {
  const query = "query ($id: ID!) { note(id: $id) { comments(orderBy: NEWEST) { nodes { body } } } }";
  return (await sendAs("mira.okafor", query, { id: noteId })).note.comments.nodes.map(({ body }) => body);
}

export const like = (user, noteId) =>
  sendAs(user, "mutation ($id: ID!) { likeNote(input: { noteId: $id }) { changed } }", { id: noteId });

export const follow = (user, userId) =>
  sendAs(user, "mutation ($id: ID!) { follow(input: { userId: $id }) { changed } }", { id: userId });
