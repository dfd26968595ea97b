-- With the column claims, which migration 5 adds to older databases.
CREATE TABLE IF NOT EXISTS authsvc_session (
    digest TEXT NOT NULL PRIMARY KEY,
    session_token TEXT NOT NULL UNIQUE REFERENCES {Session} ({Session.sessionToken}) ON DELETE CASCADE ON UPDATE CASCADE,
    user_id TEXT NOT NULL REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE,
    expires INTEGER NOT NULL,
    auth_time INTEGER,
    provider TEXT,
    claims TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS authsvc_session_user ON authsvc_session (user_id);
CREATE INDEX IF NOT EXISTS authsvc_session_expires ON authsvc_session (expires);

CREATE TABLE IF NOT EXISTS authsvc_mail (
    id TEXT NOT NULL PRIMARY KEY,
    payload BLOB NOT NULL,
    due INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    attempts INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS authsvc_mail_due ON authsvc_mail (due, id);
CREATE INDEX IF NOT EXISTS authsvc_mail_expires ON authsvc_mail (expires);

CREATE TABLE IF NOT EXISTS authsvc_once (
    id TEXT NOT NULL PRIMARY KEY,
    expires INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS authsvc_once_expires ON authsvc_once (expires);

-- With the columns that migration 4 adds to older databases.
CREATE TABLE IF NOT EXISTS authsvc_revocation (
    id TEXT NOT NULL PRIMARY KEY,
    not_before INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    user_id TEXT,
    seq INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS authsvc_revocation_expires ON authsvc_revocation (expires);

CREATE TABLE IF NOT EXISTS authsvc_meta (
    id TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
