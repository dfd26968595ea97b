DROP INDEX IF EXISTS authsvc_revocation_written;
ALTER TABLE authsvc_revocation DROP COLUMN IF EXISTS written;
ALTER TABLE authsvc_revocation ADD COLUMN IF NOT EXISTS user_id {text};
ALTER TABLE authsvc_revocation ADD COLUMN IF NOT EXISTS seq BIGINT NOT NULL DEFAULT 0;
