-- Moderation: comments that wait for a decision, and the decisions.

-- New comments, and edits of approved ones (`comment_edit`).
-- A table and not a Redis stream: a comment and its row here are one transaction, and so are a decision and its
-- totals. A moderator leases rows for a while, because a decision may take longer than a transaction should.
CREATE TABLE comment_queue (
    comment_id     bigint PRIMARY KEY REFERENCES comment_index (id),
    -- Which text is judged: every text gets a new number, so a decision on an older one has no effect. It changes only
    -- under the lock of the comment.
    submission     bigint GENERATED ALWAYS AS IDENTITY,
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

-- Also fires when an edit replaces the row of an earlier text (ON CONFLICT DO UPDATE).
CREATE TRIGGER comment_queue_announced AFTER INSERT ON comment_queue
    FOR EACH STATEMENT EXECUTE FUNCTION announce_comment_queue();

-- All decisions, each with verdict, reason, author and time. Rows never change.
CREATE TABLE comment_decision (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    comment_id  bigint NOT NULL REFERENCES comment_index (id),
    verdict     text NOT NULL CHECK (verdict IN ('approved', 'rejected', 'undecided')),
    reason      text NOT NULL,
    decided_by  text NOT NULL,           -- a moderator's name in the settings, or a user: user:5
    decided_at  timestamptz NOT NULL DEFAULT now()
);

-- The last decision on a comment.
CREATE INDEX comment_decision_of_comment ON comment_decision (comment_id, id DESC);
