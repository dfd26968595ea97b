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

-- Sessions of strategy jwt, which live in cookies.
CREATE TABLE IF NOT EXISTS authsvc_jwt_session (
    digest {text} NOT NULL PRIMARY KEY,
    user_id {type User.id} NOT NULL REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE,
    expires BIGINT NOT NULL,
    auth_time BIGINT,
    provider TEXT,
    claims TEXT,
    amr TEXT,
    second_at BIGINT,
    seen BIGINT,
    agent TEXT,
    network TEXT,
    client TEXT,
    actor TEXT
);
CREATE INDEX IF NOT EXISTS authsvc_jwt_session_user ON authsvc_jwt_session (user_id);
CREATE INDEX IF NOT EXISTS authsvc_jwt_session_expires ON authsvc_jwt_session (expires);
