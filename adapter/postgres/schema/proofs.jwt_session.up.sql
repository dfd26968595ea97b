ALTER TABLE authsvc_jwt_session ADD COLUMN IF NOT EXISTS proved_at BIGINT;
