CREATE TABLE IF NOT EXISTS authsvc_permit (
    id {text} NOT NULL PRIMARY KEY,
    expires BIGINT NOT NULL,
    KEY authsvc_permit_expires (expires)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;

CREATE TABLE IF NOT EXISTS authsvc_lease (
    id {text} NOT NULL PRIMARY KEY,
    holder {text} NOT NULL,
    expires BIGINT NOT NULL,
    KEY authsvc_lease_expires (expires)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;
