ALTER TABLE authsvc_session DROP COLUMN claims;
