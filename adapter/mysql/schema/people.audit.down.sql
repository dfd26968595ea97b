ALTER TABLE authsvc_audit DROP KEY authsvc_audit_user, DROP COLUMN actor;
