ALTER TABLE authsvc_session
    DROP COLUMN amr,
    DROP COLUMN second_at,
    DROP COLUMN seen,
    DROP COLUMN agent,
    DROP COLUMN network,
    DROP COLUMN client,
    DROP COLUMN actor;
