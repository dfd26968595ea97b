ALTER TABLE authsvc_session ADD COLUMN proved_at INTEGER;
