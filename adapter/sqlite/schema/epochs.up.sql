UPDATE authsvc_revocation SET seq = rowid WHERE seq = 0;
UPDATE authsvc_revocation SET user_id = substr(id, 6) WHERE user_id IS NULL AND substr(id, 1, 5) = 'user:';
UPDATE authsvc_revocation SET user_id = substr(id, 4 + instr(substr(id, 4), ':')) WHERE user_id IS NULL AND substr(id, 1, 3) = 'by:';
CREATE INDEX IF NOT EXISTS authsvc_revocation_seq ON authsvc_revocation (seq);
CREATE INDEX IF NOT EXISTS authsvc_revocation_user ON authsvc_revocation (user_id, seq);

-- The log of revocations is numbered here, one step at a time, so that its
-- numbers are in the order in which the steps are committed.
CREATE TABLE IF NOT EXISTS authsvc_sequence (
    id TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
);
INSERT OR IGNORE INTO authsvc_sequence (id, value) SELECT 'revocation', COALESCE(MAX(seq), 0) FROM authsvc_revocation;
