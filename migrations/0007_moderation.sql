-- Moderation: comments that wait for a decision, and the decisions.

-- A table and not a Redis stream: a comment and its row here are one transaction, and so are a decision and its
-- totals. A moderator leases rows for a while, because a decision may take longer than a transaction should.
CREATE TABLE comment_queue (
    comment_id     bigint PRIMARY KEY REFERENCES comment_index (id),
    tries          integer NOT NULL DEFAULT 0,
    due_at         timestamptz NOT NULL DEFAULT now(),
    -- Why the automatic moderator could not decide; if set, the comment waits for a person.
    undecided_why  text,
    created_at     timestamptz NOT NULL DEFAULT now()
);

-- Comments that are due for the automatic moderator, and comments that wait for a person.
CREATE INDEX comment_queue_due ON comment_queue (due_at) WHERE undecided_why IS NULL;
CREATE INDEX comment_queue_undecided ON comment_queue (comment_id) WHERE undecided_why IS NOT NULL;

CREATE FUNCTION announce_comment_queue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('comment_queue', '');
    RETURN NULL;
END $$;

CREATE TRIGGER comment_queue_announced AFTER INSERT ON comment_queue
    FOR EACH STATEMENT EXECUTE FUNCTION announce_comment_queue();

-- Decisions, each with verdict, reason, author and time.
CREATE TABLE comment_decision (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    comment_id  bigint NOT NULL REFERENCES comment_index (id),
    verdict     text NOT NULL CHECK (verdict IN ('approved', 'rejected', 'undecided')),
    reason      text NOT NULL,
    decided_by  text NOT NULL,           -- a moderator's name in the settings, or a user: user:5
    decided_at  timestamptz NOT NULL DEFAULT now(),
    -- The comment's author is shown the reason: it is the last rejection of a comment that is not removed. Kept until
    -- then, however old it is.
    is_shown    boolean NOT NULL DEFAULT false
);

-- The last decision on a comment.
CREATE INDEX comment_decision_of_comment ON comment_decision (comment_id, id DESC);
-- Decisions to delete, by age.
CREATE INDEX comment_decision_age ON comment_decision (decided_at) WHERE NOT is_shown;
