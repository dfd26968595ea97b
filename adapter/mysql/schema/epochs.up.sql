UPDATE authsvc_revocation r JOIN (SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS n FROM authsvc_revocation WHERE seq = 0) x ON x.id = r.id SET r.seq = x.n;
UPDATE authsvc_revocation SET user_id = SUBSTRING(id, 6) WHERE user_id IS NULL AND SUBSTRING(id, 1, 5) = 'user:';
UPDATE authsvc_revocation SET user_id = SUBSTRING(id, 4 + LOCATE(':', SUBSTRING(id, 4))) WHERE user_id IS NULL AND SUBSTRING(id, 1, 3) = 'by:';

-- The log of revocations is numbered here, one step at a time, so that its
-- numbers are in the order in which the steps are committed.
CREATE TABLE IF NOT EXISTS authsvc_sequence (
    id {text} NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;
INSERT IGNORE INTO authsvc_sequence (id, value) SELECT 'revocation', COALESCE(MAX(seq), 0) FROM authsvc_revocation;
