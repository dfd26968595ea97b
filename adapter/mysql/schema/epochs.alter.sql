ALTER TABLE authsvc_revocation
    DROP KEY authsvc_revocation_written,
    DROP COLUMN written,
    ADD COLUMN user_id {text} NULL,
    ADD COLUMN seq BIGINT NOT NULL DEFAULT 0,
    ADD KEY authsvc_revocation_seq (seq),
    ADD KEY authsvc_revocation_user (user_id, seq);
