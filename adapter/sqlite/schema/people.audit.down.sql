ALTER TABLE authsvc_audit DROP COLUMN actor;
