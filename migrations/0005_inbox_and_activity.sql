-- What reached a user, once per (recipient, kind, actor, target): written at the first switch-on ever,
-- kept when the edge is switched off again.
CREATE TABLE inbox_entry (
    recipient_id  bigint NOT NULL,
    kind          text NOT NULL,         -- an edge kind (note_like, comment_like, follow), or comment, reply
    actor_id      bigint NOT NULL,
    target_id     bigint NOT NULL,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (recipient_id, kind, actor_id, target_id)
);

-- Every step of every edge, with the target's total after it: the history of a number.
-- Partitioned by day, so that old days are dropped and not deleted row by row.
CREATE TABLE activity (
    at           timestamptz NOT NULL,
    kind         text NOT NULL,
    actor_id     bigint NOT NULL,
    target_id    bigint NOT NULL,
    is_on        boolean NOT NULL,
    total_after  bigint NOT NULL
) PARTITION BY RANGE (at);

-- What happened to this target, and when.
CREATE INDEX activity_of_target ON activity (kind, target_id, at);

-- Makes sure that the (UTC) day has a partition. Two callers at once wait for each other.
CREATE FUNCTION ensure_activity_day(day date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    partition text := 'activity_' || to_char(day, 'YYYYMMDD');
BEGIN
    IF to_regclass(partition) IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('ensure_activity_day'));
    EXECUTE format(
        'CREATE TABLE IF NOT EXISTS %I PARTITION OF activity FOR VALUES FROM (%L) TO (%L)',
        partition, day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
END $$;
