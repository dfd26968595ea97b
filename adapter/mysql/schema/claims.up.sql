ALTER TABLE authsvc_session ADD COLUMN claims TEXT;
