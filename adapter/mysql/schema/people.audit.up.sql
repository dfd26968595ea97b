ALTER TABLE authsvc_audit ADD COLUMN actor {text} NOT NULL DEFAULT '';
