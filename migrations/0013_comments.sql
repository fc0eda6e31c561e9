-- The conversation: comments and replies on two levels, judged before they are shown, ranked.

ALTER TABLE comment_index
    -- The reply that this reply answers; null when it answers the comment above, `parent_id`, itself.
    ADD COLUMN reply_to_id bigint REFERENCES comment_index (id),
    -- Nobody but its author sees a comment before it is approved, and it counts only then.
    ADD COLUMN state text NOT NULL DEFAULT 'approved'
        CONSTRAINT comment_index_state_known CHECK (state IN ('pending', 'approved', 'rejected')),
    -- A removed comment that still has replies: it stays in lists, without its text.
    ADD COLUMN is_placeholder boolean NOT NULL DEFAULT false,
    ADD COLUMN hot_score bigint NOT NULL DEFAULT 0,
    -- What the author's rating of the note was when this was written; null without one.
    ADD COLUMN rating_at_writing smallint
        CONSTRAINT comment_index_rating_in_range CHECK (rating_at_writing BETWEEN 0 AND 10);
-- What stood there before had been shown already.
ALTER TABLE comment_index ALTER COLUMN state SET DEFAULT 'pending';

ALTER TABLE comment_body
    ADD COLUMN images text[] NOT NULL DEFAULT '{}',
    ADD COLUMN mentions bigint[] NOT NULL DEFAULT '{}';

-- Ten times the likes weigh as much as 12.5 hours, a reply as much as two likes: a young comment passes an
-- old one that is liked more. In milliseconds, so that it is a whole number and cursors hold it exactly.
-- After "How Reddit ranking algorithms work", Amir Salihefendic, 2010.
CREATE FUNCTION comment_hot_score(likes bigint, replies bigint, created_at timestamptz) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT (extract(epoch FROM created_at) * 1000
            + 45000000 * log(greatest(likes + 2 * replies, 1)::double precision))::bigint
$$;

UPDATE comment_index AS i SET hot_score = comment_hot_score(c.likes, c.replies, i.created_at)
FROM comment_counts AS c WHERE c.id = i.id;

-- Lists, hottest first and newest first: comments of a note, and replies of a comment. Only what is shown.
DROP INDEX comment_index_top;
CREATE INDEX comment_top_by_heat ON comment_index (note_id, hot_score DESC, id DESC)
    WHERE parent_id IS NULL AND state = 'approved' AND (removed_at IS NULL OR is_placeholder);
CREATE INDEX comment_top_by_age ON comment_index (note_id, id DESC)
    WHERE parent_id IS NULL AND state = 'approved' AND (removed_at IS NULL OR is_placeholder);
CREATE INDEX comment_reply_by_heat ON comment_index (parent_id, hot_score DESC, id DESC)
    WHERE parent_id IS NOT NULL AND state = 'approved' AND (removed_at IS NULL OR is_placeholder);
CREATE INDEX comment_reply_by_age ON comment_index (parent_id, id DESC)
    WHERE parent_id IS NOT NULL AND state = 'approved' AND (removed_at IS NULL OR is_placeholder);
-- What its author alone sees.
CREATE INDEX comment_unpublished ON comment_index (author_id, note_id, id DESC)
    WHERE state <> 'approved' AND removed_at IS NULL;

-- What goes when its note goes.
CREATE INDEX comment_of_note ON comment_index (note_id, id) WHERE removed_at IS NULL OR is_placeholder;

-- Comments that wait to be judged. Rows and not a Redis stream: a comment and its place in the queue come in
-- one transaction, and so do a decision and what it counts. Who judges one leases it for a while, because
-- that may take longer than a transaction should.
CREATE TABLE comment_queue (
    comment_id    bigint PRIMARY KEY REFERENCES comment_index (id),
    tries         integer NOT NULL DEFAULT 0,
    due_at        timestamptz NOT NULL DEFAULT now(),
    -- Why no moderator could decide: it waits for a person.
    undecided_why text,
    created_at    timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX comment_queue_due ON comment_queue (due_at) WHERE undecided_why IS NULL;
CREATE INDEX comment_queue_undecided ON comment_queue (comment_id) WHERE undecided_why IS NOT NULL;

CREATE FUNCTION announce_comment_queue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('comment_queue', '');
    RETURN NULL;
END $$;

CREATE TRIGGER comment_queue_announced AFTER INSERT ON comment_queue
    FOR EACH STATEMENT EXECUTE FUNCTION announce_comment_queue();

-- Who decided what, when and why. Lines are never changed.
CREATE TABLE comment_decision (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    comment_id  bigint NOT NULL REFERENCES comment_index (id),
    verdict     text NOT NULL CHECK (verdict IN ('approved', 'rejected', 'undecided')),
    reason      text NOT NULL,
    decided_by  text NOT NULL,           -- a moderator's name in the settings, or a user: user:5
    decided_at  timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX comment_decision_of_comment ON comment_decision (comment_id, id DESC);

-- One rating per user and note, from 0 to 10; it may change.
CREATE TABLE note_rating (
    user_id     bigint NOT NULL,
    note_id     bigint NOT NULL,
    score       smallint NOT NULL CONSTRAINT note_rating_in_range CHECK (score BETWEEN 0 AND 10),
    created_at  timestamptz NOT NULL DEFAULT now(),
    changed_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, note_id)
);
