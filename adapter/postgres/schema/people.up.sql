CREATE TABLE IF NOT EXISTS authsvc_person (
    user_id {type User.id} NOT NULL PRIMARY KEY REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE,
    blocked BIGINT,
    blocked_why TEXT,
    delete_after BIGINT,
    second_step BIGINT NOT NULL DEFAULT 0,
    recover_after BIGINT,
    locale TEXT
);
CREATE INDEX IF NOT EXISTS authsvc_person_due ON authsvc_person (delete_after);

CREATE TABLE IF NOT EXISTS authsvc_credential (
    kind {text} NOT NULL,
    id {text} NOT NULL,
    user_id {type User.id} NOT NULL REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE,
    name TEXT,
    data BYTEA,
    version BIGINT NOT NULL,
    tries BIGINT NOT NULL,
    created BIGINT NOT NULL,
    used BIGINT,
    expires BIGINT,
    PRIMARY KEY (kind, id)
);
CREATE INDEX IF NOT EXISTS authsvc_credential_user ON authsvc_credential (user_id, kind);
CREATE INDEX IF NOT EXISTS authsvc_credential_expires ON authsvc_credential (expires);
