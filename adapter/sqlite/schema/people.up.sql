CREATE TABLE IF NOT EXISTS authsvc_person (
    user_id TEXT NOT NULL PRIMARY KEY REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE,
    blocked INTEGER,
    blocked_why TEXT,
    delete_after INTEGER,
    second_step INTEGER NOT NULL DEFAULT 0,
    recover_after INTEGER,
    locale TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS authsvc_person_due ON authsvc_person (delete_after);

CREATE TABLE IF NOT EXISTS authsvc_credential (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE,
    name TEXT,
    data BLOB,
    version INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    created INTEGER NOT NULL,
    used INTEGER,
    expires INTEGER,
    PRIMARY KEY (kind, id)
);
CREATE INDEX IF NOT EXISTS authsvc_credential_user ON authsvc_credential (user_id, kind);
CREATE INDEX IF NOT EXISTS authsvc_credential_expires ON authsvc_credential (expires);
