ALTER TABLE authsvc_jwt_session DROP COLUMN proved_at;
