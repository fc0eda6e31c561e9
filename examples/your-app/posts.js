// The app's own database: its users and its posts, in one SQLite file. Plaudit never sees it.
//
// sql.js is SQLite in WebAssembly, which needs no compiler. It works in memory; the file is written once, when it is
// new, because this example's users and posts never change.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { randomUUID } from "node:crypto";
import initSqlJs from "sql.js";

const SCHEMA = `
  CREATE TABLE user (id TEXT PRIMARY KEY, name TEXT NOT NULL, joined_at TEXT NOT NULL);
  CREATE TABLE post (
    id TEXT PRIMARY KEY,
    author_id TEXT NOT NULL REFERENCES user,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at TEXT NOT NULL
  );
`;
const POSTS = `
  SELECT post.id, author_id AS authorId, name AS author, title, text, created_at AS createdAt
  FROM post JOIN user ON user.id = author_id
`;
const USERS = "SELECT id, name, joined_at AS joinedAt FROM user";

/** Opens the database in `file`, or makes a new one with six users and a hundred posts. */
export async function openPosts(file) {
  const { Database } = await initSqlJs();
  const isNew = !existsSync(file);
  const db = new Database(isNew ? undefined : readFileSync(file));
  if (isNew) {
    fill(db);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, db.export());
  }
  return new Posts(db);
}

class Posts {
  #db;

  constructor(db) {
    this.#db = db;
  }

  /** All posts, the newest first. */
  posts() {
    return this.#rows(`${POSTS} ORDER BY created_at DESC`);
  }

  post(id) {
    return this.#rows(`${POSTS} WHERE post.id = ?`, [id])[0];
  }

  /** All users by name. */
  users() {
    return this.#rows(`${USERS} ORDER BY name`);
  }

  user(id) {
    return this.#rows(`${USERS} WHERE id = ?`, [id])[0];
  }

  #rows(sql, parameters = []) {
    const statement = this.#db.prepare(sql, parameters);
    const rows = [];
    while (statement.step()) rows.push(statement.getAsObject());
    statement.free();
    return rows;
  }
}

const NAMES = ["Ada Lindqvist", "Bashir Haddad", "Chiara Conti", "Dong-hyun Seo", "Esi Mensah", "Frida Olsen"];

const CROPS = [
  "tomatoes", "broad beans", "leeks", "kale", "pumpkins", "radishes", "beetroot", "chard", "garlic", "peas",
  "potatoes", "rhubarb", "strawberries", "courgettes", "carrots", "onions", "lettuces", "raspberries", "parsnips", "cucumbers",
]; // prettier-ignore

/** Title and text of a post about a crop. */
const SUBJECTS = [
  (crop) => [
    `What eats my ${crop} at night?`,
    `Every morning there are new holes, and never a culprit. I have tried a torch at midnight and a ring of grit. What else is worth trying before I give up on ${crop}?`,
  ],
  (crop) => [
    `First ${crop} of the year`,
    `Picked before breakfast, a basket full, and the bed still has more. Sown twelve weeks ago under glass, planted out after the last frost. I will sow two rows more next time.`,
  ],
  (crop) => [
    `Keeping ${crop} through the winter`,
    `A dry shed, a box of sand and a thermometer: nothing else was needed. The last ones were eaten in March. Do not wash them first, and throw out any with a bruise.`,
  ],
  (crop) => [
    `A balcony is enough for ${crop}`,
    `Two deep pots, compost of last year, and water at the same hour every day. The harvest is small, but the neighbours have begun to ask for it.`,
  ],
  (crop) => [
    `Seeds to swap: ${crop}`,
    `An old variety from my grandmother's garden, saved for thirty years. I have about forty packets and would like to see what you grow. Come to the gate on Saturday.`,
  ],
];

const HOUR_MS = 3_600_000;

function fill(db) {
  db.run(SCHEMA);
  const before = (hours) => new Date(Date.now() - hours * HOUR_MS).toISOString();
  const users = NAMES.map((name) => ({ id: randomUUID(), name }));
  for (const { id, name } of users) db.run("INSERT INTO user VALUES (?, ?, ?)", [id, name, before(5_000)]);
  SUBJECTS.flatMap((subject) => CROPS.map(subject)).forEach(([title, text], index) => {
    // Neighbours in time are about different things and by different people.
    const age = (index * 37) % 100;
    const author = users[(age * 5 + Math.floor(age / 6)) % users.length];
    db.run("INSERT INTO post VALUES (?, ?, ?, ?, ?)", [randomUUID(), author.id, title, text, before(2 + age * 11)]);
  });
}
