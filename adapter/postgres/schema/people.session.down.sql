ALTER TABLE authsvc_session DROP COLUMN IF EXISTS amr;
ALTER TABLE authsvc_session DROP COLUMN IF EXISTS second_at;
ALTER TABLE authsvc_session DROP COLUMN IF EXISTS seen;
ALTER TABLE authsvc_session DROP COLUMN IF EXISTS agent;
ALTER TABLE authsvc_session DROP COLUMN IF EXISTS network;
ALTER TABLE authsvc_session DROP COLUMN IF EXISTS client;
ALTER TABLE authsvc_session DROP COLUMN IF EXISTS actor;
