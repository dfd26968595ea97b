CREATE TABLE {VerificationToken} (
    {VerificationToken.identifier} TEXT NOT NULL,
    {VerificationToken.token} TEXT NOT NULL UNIQUE,
    {VerificationToken.expires} DATETIME NOT NULL,
    UNIQUE ({VerificationToken.identifier}, {VerificationToken.token})
);
-- The same expression as the sweep, so that it finds the index.
CREATE INDEX authsvc_token_end ON {VerificationToken} (CASE typeof({VerificationToken.expires}) WHEN 'text' THEN unixepoch({VerificationToken.expires}, 'subsec') * 1000 ELSE {VerificationToken.expires} END);
