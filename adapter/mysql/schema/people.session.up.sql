ALTER TABLE authsvc_session
    ADD COLUMN amr {text} NULL,
    ADD COLUMN second_at BIGINT NULL,
    ADD COLUMN seen BIGINT NULL,
    ADD COLUMN agent {text} NULL,
    ADD COLUMN network {text} NULL,
    ADD COLUMN client {text} NULL,
    ADD COLUMN actor {text} NULL;
