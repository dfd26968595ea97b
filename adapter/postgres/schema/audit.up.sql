CREATE TABLE IF NOT EXISTS authsvc_audit (
    id {text} NOT NULL PRIMARY KEY,
    occurred BIGINT NOT NULL,
    name {text} NOT NULL,
    outcome {text} NOT NULL,
    code {text} NOT NULL,
    reason {text} NOT NULL,
    provider {text} NOT NULL,
    user_id {text} NOT NULL,
    client {text} NOT NULL,
    agent {text} NOT NULL,
    request {text} NOT NULL
);
CREATE INDEX IF NOT EXISTS authsvc_audit_occurred ON authsvc_audit (occurred, id);
