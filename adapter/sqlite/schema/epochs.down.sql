DROP TABLE IF EXISTS authsvc_sequence;
DROP INDEX IF EXISTS authsvc_revocation_user;
DROP INDEX IF EXISTS authsvc_revocation_seq;
ALTER TABLE authsvc_revocation DROP COLUMN seq;
ALTER TABLE authsvc_revocation DROP COLUMN user_id;
ALTER TABLE authsvc_revocation ADD COLUMN written INTEGER NOT NULL DEFAULT 0;
CREATE INDEX authsvc_revocation_written ON authsvc_revocation (written, id);
