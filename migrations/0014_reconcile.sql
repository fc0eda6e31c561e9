-- Reconciliation: recounting totals from rows, and what was repaired.

-- What was set right, by whom and when. Kept for 90 days: for the question why a number jumped.
CREATE TABLE repair (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    entity      text NOT NULL,           -- as in the keys: note:42
    what        text NOT NULL,           -- which store's copy of what: total, totals row, redis, pending, members
    counter     text NOT NULL,           -- its name, or the kind of edges; empty when it is all of them
    from_value  bigint,                  -- null where there was none
    to_value    bigint,
    made_by     text NOT NULL CHECK (made_by IN ('command', 'background', 'nightly')),
    made_at     timestamptz NOT NULL DEFAULT now()
);

-- The last repairs of an entity; and the old ones, which are deleted.
CREATE INDEX repair_of_entity ON repair (entity, id DESC);
CREATE INDEX repair_age ON repair (made_at);

-- The nightly run over everything: one row. `began_at` is when the last one began, so that a restart neither
-- repeats nor skips a night; `kind` and `after_id` are where it stands, so that it goes on from there.
-- At the first start nothing is overdue: the first run is that of the next night.
CREATE TABLE nightly_reconcile (
    singleton    boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    began_at     timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz DEFAULT now(),
    kind         text NOT NULL DEFAULT 'user',
    after_id     bigint NOT NULL DEFAULT 0,
    checked      bigint NOT NULL DEFAULT 0,
    skipped      bigint NOT NULL DEFAULT 0,
    drifted      bigint NOT NULL DEFAULT 0,
    repaired     bigint NOT NULL DEFAULT 0
);
INSERT INTO nightly_reconcile DEFAULT VALUES;

-- Recounting reads the rows of one entity along an index. These lists have no other reader.
-- The price: one more index entry per new row, and per like of a comment, whose score moves the row.
CREATE INDEX note_collect_of_target ON note_collect (target_id) WHERE included;
CREATE INDEX comment_like_of_target ON comment_like (target_id) WHERE included;
-- Not partial: before its first ANALYZE PostgreSQL takes an index on what is approved and not removed for
-- nearly empty, and reads all of it to find the comments of a note.
CREATE INDEX comment_by_author ON comment_index (author_id);
CREATE INDEX note_rating_of_note ON note_rating (note_id) INCLUDE (score);
