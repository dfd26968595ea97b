CREATE TABLE IF NOT EXISTS authsvc_audit (
    id TEXT NOT NULL PRIMARY KEY,
    occurred INTEGER NOT NULL,
    name TEXT NOT NULL,
    outcome TEXT NOT NULL,
    code TEXT NOT NULL,
    reason TEXT NOT NULL,
    provider TEXT NOT NULL,
    user_id TEXT NOT NULL,
    client TEXT NOT NULL,
    agent TEXT NOT NULL,
    request TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS authsvc_audit_occurred ON authsvc_audit (occurred, id);
