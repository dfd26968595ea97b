DROP TABLE IF EXISTS authsvc_sequence;
ALTER TABLE authsvc_revocation
    DROP KEY authsvc_revocation_user,
    DROP KEY authsvc_revocation_seq,
    DROP COLUMN seq,
    DROP COLUMN user_id,
    ADD COLUMN written BIGINT NOT NULL DEFAULT 0,
    ADD KEY authsvc_revocation_written (written, id);
