DROP INDEX IF EXISTS authsvc_audit_user;
ALTER TABLE authsvc_audit DROP COLUMN IF EXISTS actor;
