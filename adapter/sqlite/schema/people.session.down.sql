ALTER TABLE authsvc_session DROP COLUMN amr;
ALTER TABLE authsvc_session DROP COLUMN second_at;
ALTER TABLE authsvc_session DROP COLUMN seen;
ALTER TABLE authsvc_session DROP COLUMN agent;
ALTER TABLE authsvc_session DROP COLUMN network;
ALTER TABLE authsvc_session DROP COLUMN client;
ALTER TABLE authsvc_session DROP COLUMN actor;
