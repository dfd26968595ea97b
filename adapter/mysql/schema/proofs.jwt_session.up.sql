ALTER TABLE authsvc_jwt_session ADD COLUMN proved_at BIGINT NULL;
