ALTER TABLE authsvc_audit ADD COLUMN actor {text} NOT NULL DEFAULT '', ADD KEY authsvc_audit_user (user_id, occurred, id);
