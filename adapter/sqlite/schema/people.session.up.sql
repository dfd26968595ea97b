-- SQLite cannot take NOT NULL off a column.
CREATE TABLE authsvc_session_next (
    digest TEXT NOT NULL PRIMARY KEY,
    session_token TEXT UNIQUE REFERENCES {Session} ({Session.sessionToken}) ON DELETE CASCADE ON UPDATE CASCADE,
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
INSERT INTO authsvc_session_next (digest, session_token, user_id, expires, auth_time, provider, claims)
    SELECT digest, session_token, user_id, expires, auth_time, provider, claims FROM authsvc_session;
DROP TABLE authsvc_session;
ALTER TABLE authsvc_session_next RENAME TO authsvc_session;
CREATE INDEX authsvc_session_user ON authsvc_session (user_id);
CREATE INDEX authsvc_session_expires ON authsvc_session (expires);
