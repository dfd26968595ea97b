CREATE TABLE IF NOT EXISTS authsvc_permit (
    id {text} NOT NULL PRIMARY KEY,
    expires BIGINT NOT NULL
);
CREATE INDEX IF NOT EXISTS authsvc_permit_expires ON authsvc_permit (expires);

CREATE TABLE IF NOT EXISTS authsvc_lease (
    id {text} NOT NULL PRIMARY KEY,
    holder {text} NOT NULL,
    expires BIGINT NOT NULL
);
CREATE INDEX IF NOT EXISTS authsvc_lease_expires ON authsvc_lease (expires);
