DROP INDEX IF EXISTS authsvc_revocation_written;
ALTER TABLE authsvc_revocation DROP COLUMN written;
ALTER TABLE authsvc_revocation ADD COLUMN user_id TEXT;
ALTER TABLE authsvc_revocation ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
