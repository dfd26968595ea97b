DELETE FROM authsvc_session WHERE session_token IS NULL;
ALTER TABLE authsvc_session
    MODIFY COLUMN session_token {type Session.sessionToken} NOT NULL,
    DROP COLUMN amr,
    DROP COLUMN second_at,
    DROP COLUMN seen,
    DROP COLUMN agent,
    DROP COLUMN network,
    DROP COLUMN client,
    DROP COLUMN actor;
