DROP TABLE IF EXISTS authsvc_sequence;
DROP INDEX IF EXISTS authsvc_revocation_user;
DROP INDEX IF EXISTS authsvc_revocation_seq;
ALTER TABLE authsvc_revocation DROP COLUMN IF EXISTS seq;
ALTER TABLE authsvc_revocation DROP COLUMN IF EXISTS user_id;
ALTER TABLE authsvc_revocation ADD COLUMN IF NOT EXISTS written BIGINT NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS authsvc_revocation_written ON authsvc_revocation (written, id);
