-- A column that is compared with a column of a shared table has the same type and
-- collation, since two different collations cannot be compared.
-- With the column claims, which migration 5 adds to older databases.
CREATE TABLE IF NOT EXISTS authsvc_session (
    digest {text} NOT NULL PRIMARY KEY,
    session_token {type Session.sessionToken} NOT NULL UNIQUE REFERENCES {Session} ({Session.sessionToken}) ON DELETE CASCADE ON UPDATE CASCADE,
    user_id {type User.id} NOT NULL REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE,
    expires BIGINT NOT NULL,
    auth_time BIGINT,
    provider {text},
    claims TEXT
);
CREATE INDEX IF NOT EXISTS authsvc_session_user ON authsvc_session (user_id);
CREATE INDEX IF NOT EXISTS authsvc_session_expires ON authsvc_session (expires);

CREATE TABLE IF NOT EXISTS authsvc_mail (
    id {type VerificationToken.token} NOT NULL PRIMARY KEY,
    payload BYTEA NOT NULL,
    due BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    attempts BIGINT NOT NULL
);
CREATE INDEX IF NOT EXISTS authsvc_mail_due ON authsvc_mail (due, id);
CREATE INDEX IF NOT EXISTS authsvc_mail_expires ON authsvc_mail (expires);

CREATE TABLE IF NOT EXISTS authsvc_once (
    id {text} NOT NULL PRIMARY KEY,
    expires BIGINT NOT NULL
);
CREATE INDEX IF NOT EXISTS authsvc_once_expires ON authsvc_once (expires);

CREATE TABLE IF NOT EXISTS authsvc_revocation (
    id {text} NOT NULL PRIMARY KEY,
    not_before BIGINT NOT NULL,
    written BIGINT NOT NULL,
    expires BIGINT NOT NULL
);
CREATE INDEX IF NOT EXISTS authsvc_revocation_written ON authsvc_revocation (written, id);
CREATE INDEX IF NOT EXISTS authsvc_revocation_expires ON authsvc_revocation (expires);

CREATE TABLE IF NOT EXISTS authsvc_meta (
    id {text} NOT NULL PRIMARY KEY,
    value {text} NOT NULL
);
