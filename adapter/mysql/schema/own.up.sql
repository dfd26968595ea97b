-- A column that refers to a column of a shared table has the type of that column.
-- With the column claims, which migration 5 adds to older databases.
CREATE TABLE IF NOT EXISTS authsvc_session (
    digest {text} NOT NULL PRIMARY KEY,
    session_token {type Session.sessionToken} NOT NULL,
    user_id {type User.id} NOT NULL,
    expires BIGINT NOT NULL,
    auth_time BIGINT,
    provider {text},
    claims TEXT,
    UNIQUE KEY authsvc_session_token (session_token),
    KEY authsvc_session_user (user_id),
    KEY authsvc_session_expires (expires),
    FOREIGN KEY (session_token) REFERENCES {Session} ({Session.sessionToken}) ON DELETE CASCADE ON UPDATE CASCADE,
    FOREIGN KEY (user_id) REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS authsvc_mail (
    id {text} NOT NULL PRIMARY KEY,
    payload MEDIUMBLOB NOT NULL,
    due BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    attempts INT NOT NULL,
    KEY authsvc_mail_due (due, id),
    KEY authsvc_mail_expires (expires)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS authsvc_once (
    id {text} NOT NULL PRIMARY KEY,
    expires BIGINT NOT NULL,
    KEY authsvc_once_expires (expires)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS authsvc_revocation (
    id {text} NOT NULL PRIMARY KEY,
    not_before BIGINT NOT NULL,
    written BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    KEY authsvc_revocation_written (written, id),
    KEY authsvc_revocation_expires (expires)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS authsvc_meta (
    id {text} NOT NULL PRIMARY KEY,
    value MEDIUMTEXT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;
