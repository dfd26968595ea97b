CREATE TABLE {VerificationToken} (
    {VerificationToken.identifier} TEXT NOT NULL,
    {VerificationToken.token} TEXT NOT NULL UNIQUE,
    {VerificationToken.expires} TIMESTAMP(3) NOT NULL,
    UNIQUE ({VerificationToken.identifier}, {VerificationToken.token})
);
CREATE INDEX authsvc_token_end ON {VerificationToken} ({VerificationToken.expires});
