-- Edges: one table per kind, all of the same columns. A row stays when the edge is switched off.
--
-- `included`: the totals include this row (it is on, its actor is visible, its target is not removed). When a target is
-- removed, rows of likes and collects keep it, and totals no longer follow them; rows of kinds that also count for their
-- actor lose it, page by page.
-- `told`: the position at which the owner of the target was notified of this edge; 0 if never, and if that was taken back
-- because the edge was switched off before its owner had read it. See inbox_entry.
-- `created_at` and `changed_at` are the times of the actions, not the time of the batch that wrote them.
-- No foreign keys and no checks: an unusual event must not stop its batch; its row is written with `included` false.
-- fillfactor 100: a row changes seldom, so that room for HOT updates would only make the table larger.
-- The primary key also answers "is it on?" and "the highest targets of this actor".

CREATE TABLE note_like (
    actor_id    bigint NOT NULL,
    target_id   bigint NOT NULL,
    is_on       boolean NOT NULL,
    included    boolean NOT NULL,
    created_at  timestamptz NOT NULL,
    changed_at  timestamptz NOT NULL,
    told        bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (actor_id, target_id)
);

CREATE TABLE comment_like (LIKE note_like INCLUDING DEFAULTS INCLUDING INDEXES);
CREATE TABLE follow (LIKE note_like INCLUDING DEFAULTS INCLUDING INDEXES);
CREATE TABLE note_collect (LIKE note_like INCLUDING DEFAULTS INCLUDING INDEXES);
CREATE TABLE group_join (LIKE note_like INCLUDING DEFAULTS INCLUDING INDEXES);

-- What a user likes, collects, follows and is a member of: last switched on first. The target breaks ties.
CREATE INDEX note_like_by_actor ON note_like (actor_id, changed_at DESC, target_id DESC) WHERE is_on;
CREATE INDEX note_collect_by_actor ON note_collect (actor_id, changed_at DESC, target_id DESC) WHERE is_on;
CREATE INDEX follow_by_actor ON follow (actor_id, changed_at DESC, target_id DESC) WHERE is_on;
CREATE INDEX group_join_by_actor ON group_join (actor_id, changed_at DESC, target_id DESC) WHERE is_on;

-- Who likes a note or comment, follows a user, is a member of a group. Lists show only actors whose edge is included, which
-- leaves hidden users out.
CREATE INDEX note_like_of_target ON note_like (target_id, changed_at DESC, actor_id DESC) WHERE included;
CREATE INDEX comment_like_of_target ON comment_like (target_id, changed_at DESC, actor_id DESC) WHERE included;
CREATE INDEX follow_of_target ON follow (target_id, changed_at DESC, actor_id DESC) WHERE included;
CREATE INDEX group_join_of_target ON group_join (target_id, changed_at DESC, actor_id DESC) WHERE included;

-- The other rows of followed users: to erase a user. They are few.
CREATE INDEX follow_of_target_not_included ON follow (target_id, actor_id) WHERE NOT included;

-- For recounts alone: nobody lists these.
CREATE INDEX note_collect_of_target ON note_collect (target_id) WHERE included;
