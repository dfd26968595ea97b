ALTER TABLE authsvc_session DROP COLUMN IF EXISTS proved_at;
