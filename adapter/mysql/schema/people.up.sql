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
