-- Moderation: comments and notes that wait for a decision, the decisions, and reports.

-- Texts of notes and comments that wait for a decision: of new comments, of new notes while `moderate_notes` is on, and
-- edits of approved ones (`edit`). `kind` and `target_id` name the note or comment in each table here.
-- A table and not a Redis stream: a comment and its row here are one transaction, and so are a decision and its
-- totals. A moderator leases rows for a while, because a decision may take longer than a transaction should.
CREATE TABLE submission (
    -- Which text is judged: every text gets a new number, so a decision on an older one has no effect. It changes only
    -- under the lock of the note or comment.
    number         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind           text NOT NULL CHECK (kind IN ('note', 'comment')),
    target_id      bigint NOT NULL,
    tries          integer NOT NULL DEFAULT 0,
    due_at         timestamptz NOT NULL DEFAULT now(),
    -- Why the automatic moderator could not decide; if set, the text waits for a person.
    undecided_why  text,
    created_at     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT submission_of_target UNIQUE (kind, target_id)
);

-- Texts that are due for the automatic moderator, and texts that wait for a person.
CREATE INDEX submission_due ON submission (due_at) WHERE undecided_why IS NULL;
CREATE INDEX submission_undecided ON submission (number) WHERE undecided_why IS NOT NULL;

CREATE FUNCTION announce_review_queue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('review_queue', '');
    RETURN NULL;
END $$;

-- Also fires when an edit replaces the row of an earlier text (ON CONFLICT DO UPDATE).
CREATE TRIGGER submission_announced AFTER INSERT ON submission
    FOR EACH STATEMENT EXECUTE FUNCTION announce_review_queue();

-- The next texts of approved notes and comments. Everybody sees the old text until this one is approved and takes its
-- place. One that was rejected stays for its author until the next edit.
CREATE TABLE edit (
    kind              text NOT NULL CHECK (kind IN ('note', 'comment')),
    target_id         bigint NOT NULL,
    title             text CHECK ((title IS NOT NULL) = (kind = 'note')),
    body              text NOT NULL,
    images            text[] NOT NULL DEFAULT '{}',
    mentions          bigint[] NOT NULL DEFAULT '{}',
    -- Null while it waits for a decision.
    rejected_because  text,
    created_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, target_id)
);

-- Decisions, each with verdict, reason, author and time.
CREATE TABLE decision (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text NOT NULL CHECK (kind IN ('note', 'comment')),
    target_id   bigint NOT NULL,
    verdict     text NOT NULL CHECK (verdict IN ('approved', 'rejected', 'undecided')),
    reason      text NOT NULL,
    decided_by  text NOT NULL,           -- a moderator's name in the settings, or a user: user_5
    decided_at  timestamptz NOT NULL DEFAULT now(),
    -- The author is shown the reason: it is the last rejection of what is not removed. Kept until then, however old it is.
    is_shown    boolean NOT NULL DEFAULT false
);

-- The last decision on a note or comment, and decisions to delete, by age.
CREATE INDEX decision_of_target ON decision (kind, target_id, id DESC);
CREATE INDEX decision_age ON decision (decided_at) WHERE NOT is_shown;

-- A removed note waits for no decision. A trigger, so that no code path can forget it.
CREATE FUNCTION withdraw_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM submission WHERE kind = 'note' AND target_id = NEW.id;
    DELETE FROM edit WHERE kind = 'note' AND target_id = NEW.id;
    UPDATE decision SET is_shown = false WHERE kind = 'note' AND target_id = NEW.id AND is_shown;
    RETURN NULL;
END $$;

CREATE TRIGGER note_withdrawn AFTER UPDATE OF removed_at ON note
    FOR EACH ROW WHEN (OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL)
    EXECUTE FUNCTION withdraw_note();

-- Reports of notes and comments, for moderators. Reports of one object are a case until it is closed: by a decision, or
-- because the object was removed otherwise. A later report opens another case. Closed cases are the record of decisions.
CREATE TABLE report_case (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    about              text NOT NULL,           -- as in the keys: note_42, comment_42
    -- Reports per reason, by the numbers of src/domain/moderation/reports.rs. They change under the lock of this row, in the
    -- transaction of the report.
    by_reason          bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0,0,0}'
        CONSTRAINT report_case_reasons_known CHECK (array_length(by_reason, 1) = 8),
    reports            bigint NOT NULL GENERATED ALWAYS AS (
        by_reason[1] + by_reason[2] + by_reason[3] + by_reason[4] + by_reason[5] + by_reason[6] + by_reason[7] + by_reason[8]
    ) STORED,
    -- The least number of open reports that one of its reporters had with this one, so that a case by a user who reports
    -- much comes after the cases of others.
    turn               smallint NOT NULL DEFAULT 1 CONSTRAINT report_case_turn_known CHECK (turn BETWEEN 1 AND 100),
    first_reported_at  timestamptz NOT NULL DEFAULT now(),
    last_reported_at   timestamptz NOT NULL DEFAULT now(),
    closed_at          timestamptz,
    -- Null while it is open, and if the object was removed otherwise.
    decision           text CONSTRAINT report_case_decision_known CHECK (decision IN ('keep', 'remove')),
    decision_reason    text,
    decided_by         bigint,
    CONSTRAINT report_case_decided_when_closed CHECK (decision IS NULL OR closed_at IS NOT NULL AND decided_by IS NOT NULL)
);

CREATE UNIQUE INDEX report_case_open ON report_case (about) WHERE closed_at IS NULL;
CREATE INDEX report_case_by_reports ON report_case ((reports * 100 - turn) DESC, id DESC) WHERE closed_at IS NULL;
CREATE INDEX report_case_by_age ON report_case (id) WHERE closed_at IS NULL;
-- The last closed case of an object, and the old ones to delete.
CREATE INDEX report_case_closed ON report_case (about, id DESC) WHERE closed_at IS NOT NULL;
CREATE INDEX report_case_closed_by_age ON report_case (closed_at) WHERE closed_at IS NOT NULL;

-- One report per case and reporter, who may change it while the case is open.
CREATE TABLE report (
    case_id      bigint NOT NULL REFERENCES report_case (id),
    reporter_id  bigint NOT NULL,
    reason       smallint NOT NULL CONSTRAINT report_reason_known CHECK (reason BETWEEN 1 AND 8),
    text         text,                    -- null if the reporter wrote none
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (case_id, reporter_id)
);

-- The reports of a case, the latest first; and the reports of a user, for export and erasure.
CREATE INDEX report_of_case ON report (case_id, created_at DESC, reporter_id DESC);
CREATE INDEX report_by_reporter ON report (reporter_id, case_id);

-- Triggers close the case of a removed object, so that no code path can forget it. A decision has closed it before.
CREATE FUNCTION close_report_case() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE report_case SET closed_at = now() WHERE about = TG_ARGV[0] || '_' || NEW.id AND closed_at IS NULL;
    RETURN NULL;
END $$;

CREATE TRIGGER note_report_case_closed AFTER UPDATE OF removed_at ON note
    FOR EACH ROW WHEN (OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL)
    EXECUTE FUNCTION close_report_case('note');
CREATE TRIGGER comment_report_case_closed AFTER UPDATE OF removed_at ON comment_index
    FOR EACH ROW WHEN (OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL)
    EXECUTE FUNCTION close_report_case('comment');
