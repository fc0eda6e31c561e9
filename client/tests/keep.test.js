// What waits to be sent outlasts a reload, in a storage that answers at once and in one with promises.

import assert from "node:assert/strict";
import { test } from "node:test";
import { keepFor } from "plaudit-client";

/** A storage with promises, as a phone has; `answer` lets what was asked for come. */
function phone() {
  const items = new Map();
  let asked = [];
  return {
    items,
    getItem: (name) => new Promise((resolve) => asked.push(() => resolve(items.get(name) ?? null))),
    setItem: async (name, text) => void items.set(name, text),
    answer: async () => {
      for (const one of asked.splice(0)) one();
      await new Promise(setImmediate);
    },
  };
}

const intent = (on, key) => ({ on, key, at: Date.now() });

/** What an earlier page kept, by the listener of a page that opens. */
function waiting(keep) {
  const found = [];
  keep.listen((ref, action, { key }) => found.push(`${action} ${ref} ${key}`), () => {});
  return found;
}

test("a storage with promises keeps as one without, and a newer action outweighs what was kept", async () => {
  const storage = phone();
  const before = keepFor("ann", storage);
  await storage.answer();
  before.put("note_1", "like", intent(true, "first"));
  before.put("note_2", "like", intent(true, "second"));
  before.put("note_3", "like", intent(true, "third"));
  before.settle("note_3", "like", intent(true, "third"));
  await new Promise(setImmediate);

  const after = keepFor("ann", storage);
  const found = waiting(after);
  after.put("note_2", "like", intent(false, "newer"));
  after.put("note_4", "like", intent(true, "other"));
  assert.deepEqual(found, [], "nothing is known yet");
  await storage.answer();
  assert.deepEqual(found, ["like note_1 first"]);
  await new Promise(setImmediate);

  const next = waiting(keepFor("ann", storage));
  const other = waiting(keepFor("bob", storage));
  await storage.answer();
  assert.deepEqual(next.sort(), ["like note_1 first", "like note_2 newer", "like note_4 other"]);
  assert.deepEqual(other, []);
});

test("a storage that fails keeps nothing, and hinders nothing", async () => {
  const fails = () => Promise.reject(new Error("full"));
  const keep = keepFor("ann", { getItem: fails, setItem: fails });
  assert.deepEqual(waiting(keep), []);
  assert.equal(keep.put("note_1", "like", intent(true, "first")).key, "first");
  await new Promise(setImmediate);
  assert.equal(keepFor("ann", { getItem: () => { throw new Error("forbidden"); }, setItem: fails }), undefined);
});
