-- One table per edge kind, all of one shape. A row stays when the edge is switched off.
-- `included`: the totals include this row (it is on, its actor is visible, its target is there).
-- `created_at` and `changed_at` are the times of the actions, not of the batch.
-- No foreign keys and no checks: an event that is odd must not stop its batch; it is written with `included` false.
-- fillfactor 100: a row is flipped seldom, so room for HOT updates would only make the table larger.
-- The primary key also serves "is it on?" and "the highest targets of this actor".

CREATE TABLE note_like (
    actor_id    bigint NOT NULL,
    target_id   bigint NOT NULL,
    is_on       boolean NOT NULL,
    included    boolean NOT NULL,
    created_at  timestamptz NOT NULL,
    changed_at  timestamptz NOT NULL,
    PRIMARY KEY (actor_id, target_id)
);

CREATE TABLE comment_like (
    actor_id    bigint NOT NULL,
    target_id   bigint NOT NULL,
    is_on       boolean NOT NULL,
    included    boolean NOT NULL,
    created_at  timestamptz NOT NULL,
    changed_at  timestamptz NOT NULL,
    PRIMARY KEY (actor_id, target_id)
);

CREATE TABLE follow (
    actor_id    bigint NOT NULL,
    target_id   bigint NOT NULL,
    is_on       boolean NOT NULL,
    included    boolean NOT NULL,
    created_at  timestamptz NOT NULL,
    changed_at  timestamptz NOT NULL,
    PRIMARY KEY (actor_id, target_id)
);
