ALTER TABLE authsvc_session DROP COLUMN proved_at;
