ALTER TABLE authsvc_session ADD COLUMN actor TEXT;
ALTER TABLE authsvc_session ADD COLUMN client TEXT;
ALTER TABLE authsvc_session ADD COLUMN network TEXT;
ALTER TABLE authsvc_session ADD COLUMN agent TEXT;
ALTER TABLE authsvc_session ADD COLUMN seen INTEGER;
ALTER TABLE authsvc_session ADD COLUMN second_at INTEGER;
ALTER TABLE authsvc_session ADD COLUMN amr TEXT;
