-- What has counters. Ids come from sequences: they rise with creation and stay below 2^53.
-- `removed_at` is set instead of deleting the row, so that late events still find out.

CREATE TABLE app_user (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The subject of the user's tokens: how the world outside knows the user.
    subject     text NOT NULL CHECK (octet_length(subject) BETWEEN 1 AND 255),
    name        text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    removed_at  timestamptz,
    -- A hidden user's edges do not count until the user is restored.
    hidden_at   timestamptz,
    CONSTRAINT app_user_subject_unique UNIQUE (subject)
);

CREATE TABLE note (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    author_id   bigint NOT NULL REFERENCES app_user (id),
    title       text NOT NULL,
    body        text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    removed_at  timestamptz
);

-- The feed: newest first, which is highest id first.
CREATE INDEX note_feed ON note (id DESC) WHERE removed_at IS NULL;

-- Structure of the conversation, apart from its text, so that paging reads narrow rows.
CREATE TABLE comment_index (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    note_id     bigint NOT NULL REFERENCES note (id),
    author_id   bigint NOT NULL REFERENCES app_user (id),
    -- The top-level comment below which this one stands; null for a top-level comment.
    parent_id   bigint REFERENCES comment_index (id),
    created_at  timestamptz NOT NULL DEFAULT now(),
    removed_at  timestamptz
);

-- A note's top-level comments, newest first.
CREATE INDEX comment_index_top ON comment_index (note_id, id DESC) WHERE parent_id IS NULL AND removed_at IS NULL;

CREATE TABLE comment_body (
    id    bigint PRIMARY KEY REFERENCES comment_index (id),
    body  text NOT NULL
);
