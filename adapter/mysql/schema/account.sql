CREATE TABLE IF NOT EXISTS {Account} (
    {Account.id} {text} NOT NULL PRIMARY KEY,
    {Account.userId} {type User.id} NOT NULL,
    {Account.type} VARCHAR(255) NOT NULL,
    {Account.provider} {text} NOT NULL,
    {Account.providerAccountId} {text} NOT NULL,
    {Account.refresh_token} MEDIUMTEXT,
    {Account.access_token} MEDIUMTEXT,
    {Account.expires_at} BIGINT,
    {Account.token_type} TEXT,
    {Account.scope} TEXT,
    {Account.id_token} MEDIUMTEXT,
    {Account.session_state} TEXT,
    UNIQUE KEY authsvc_account_identity ({Account.provider}, {Account.providerAccountId}),
    KEY authsvc_account_user ({Account.userId}),
    FOREIGN KEY ({Account.userId}) REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;
