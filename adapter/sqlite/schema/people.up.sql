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

-- Sessions of strategy jwt, which live in cookies.
CREATE TABLE IF NOT EXISTS authsvc_jwt_session (
    digest TEXT NOT NULL PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE,
    expires INTEGER NOT NULL,
    auth_time INTEGER,
    provider TEXT,
    claims TEXT,
    amr TEXT,
    second_at INTEGER,
    seen INTEGER,
    agent TEXT,
    network TEXT,
    client TEXT,
    actor TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS authsvc_jwt_session_user ON authsvc_jwt_session (user_id);
CREATE INDEX IF NOT EXISTS authsvc_jwt_session_expires ON authsvc_jwt_session (expires);
