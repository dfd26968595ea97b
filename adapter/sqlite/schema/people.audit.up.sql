ALTER TABLE authsvc_audit ADD COLUMN actor TEXT NOT NULL DEFAULT '';
CREATE INDEX IF NOT EXISTS authsvc_audit_user ON authsvc_audit (user_id, occurred, id);
