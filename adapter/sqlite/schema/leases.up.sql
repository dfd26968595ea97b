CREATE TABLE IF NOT EXISTS authsvc_permit (
    id TEXT NOT NULL PRIMARY KEY,
    expires INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS authsvc_permit_expires ON authsvc_permit (expires);

CREATE TABLE IF NOT EXISTS authsvc_lease (
    id TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    expires INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS authsvc_lease_expires ON authsvc_lease (expires);
