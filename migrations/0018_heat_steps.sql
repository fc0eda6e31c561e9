-- Hot notes without a price on each like.
-- An index on heat itself (0011) makes every update of likes write to all indexes of its row. A step of heat changes
-- seldom, so nearly all updates are HOT again. Steps are about as wide as chance makes counts differ: 1, 2-4, 5-7, …,
-- 968-1012 for heat of about 1,000. Which notes are hottest within the last step is looked up among its newest.
-- The heat is that of src/catalogue/heat.rs; a unit test compares the two. It is below zero only while a count drifts.
-- Rewrites the table: some seconds for each million notes, in which no note is counted.
-- The release before ranks by totals without an index meanwhile: slower, never wrong.
DROP INDEX note_counts_hot;

ALTER TABLE note_counts ADD COLUMN heat_step integer NOT NULL
    GENERATED ALWAYS AS (floor(sqrt(2 * greatest((likes + 2 * collects), 0)::float8))::integer) STORED;

CREATE INDEX note_counts_by_heat ON note_counts (heat_step DESC, id DESC);
