CREATE TABLE IF NOT EXISTS {VerificationToken} (
    {VerificationToken.identifier} {text} NOT NULL,
    {VerificationToken.token} {text} NOT NULL,
    {VerificationToken.expires} DATETIME(3) NOT NULL,
    PRIMARY KEY ({VerificationToken.identifier}, {VerificationToken.token}),
    UNIQUE KEY authsvc_token_key ({VerificationToken.token}),
    KEY authsvc_token_end ({VerificationToken.expires})
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;
