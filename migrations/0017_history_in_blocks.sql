-- A batch takes the positions of its steps in the history from one block: asking the sequence for each of thousands
-- of rows costs a tenth of what it takes to write them. Blocks rise from batch to batch, and a batch holds the locks
-- of its targets' totals while it takes one, so positions of one target are in the order of writing, as before. Rows
-- that are written without a position, as the previous release does, take a block each.
-- The number is that of STEPS_AT_ONCE in src/store/sql/activity.rs.
ALTER SEQUENCE activity_position INCREMENT BY 10000;
