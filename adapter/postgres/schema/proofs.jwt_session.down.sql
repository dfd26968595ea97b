ALTER TABLE authsvc_jwt_session DROP COLUMN IF EXISTS proved_at;
