CREATE TABLE IF NOT EXISTS authsvc_person (
    user_id {type User.id} NOT NULL PRIMARY KEY,
    blocked BIGINT,
    blocked_why {text},
    delete_after BIGINT,
    second_step BIGINT NOT NULL DEFAULT 0,
    recover_after BIGINT,
    locale {text},
    KEY authsvc_person_due (delete_after),
    FOREIGN KEY (user_id) REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS authsvc_credential (
    kind {text} NOT NULL,
    id {text} NOT NULL,
    user_id {type User.id} NOT NULL,
    name {text},
    data MEDIUMBLOB,
    version BIGINT NOT NULL,
    tries BIGINT NOT NULL,
    created BIGINT NOT NULL,
    used BIGINT,
    expires BIGINT,
    PRIMARY KEY (kind, id),
    KEY authsvc_credential_user (user_id, kind),
    KEY authsvc_credential_expires (expires),
    FOREIGN KEY (user_id) REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- Sessions of strategy jwt, which live in cookies.
CREATE TABLE IF NOT EXISTS authsvc_jwt_session (
    digest {text} NOT NULL PRIMARY KEY,
    user_id {type User.id} NOT NULL,
    expires BIGINT NOT NULL,
    auth_time BIGINT,
    provider {text},
    claims TEXT,
    amr {text},
    second_at BIGINT,
    seen BIGINT,
    agent {text},
    network {text},
    client {text},
    actor {text},
    KEY authsvc_jwt_session_user (user_id),
    KEY authsvc_jwt_session_expires (expires),
    FOREIGN KEY (user_id) REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;
