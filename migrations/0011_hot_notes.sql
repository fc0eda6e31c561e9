-- Hot notes.

-- Notes by likes and collects since ever: the list when a window has no heat of its own, and the whole list
-- of the window ALL. The expression is that of src/catalogue/heat.rs; a unit test compares the two.
-- The price: totals of notes are indexed now, so an update of likes or collects is no HOT update any more; it
-- writes a new entry into both indexes, and leaves dead ones for vacuum. Accepted, because a batch updates a
-- note once however many like it, while without the index the list would sort all notes at each look.
CREATE INDEX note_counts_hot ON note_counts ((likes + 2 * collects) DESC, id DESC);

-- What happened in an hour, when heat is rebuilt. History is appended in the order of time, which makes BRIN
-- nearly free: a few pages per day, and no work per row.
CREATE INDEX activity_by_time ON activity USING brin (at) WITH (autosummarize = on);
