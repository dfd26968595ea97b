CREATE TABLE {Account} (
    {Account.id} TEXT NOT NULL PRIMARY KEY,
    {Account.userId} {type User.id} NOT NULL REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE,
    {Account.type} TEXT NOT NULL,
    {Account.provider} TEXT NOT NULL,
    {Account.providerAccountId} TEXT NOT NULL,
    {Account.refresh_token} TEXT,
    {Account.access_token} TEXT,
    {Account.expires_at} BIGINT,
    {Account.token_type} TEXT,
    {Account.scope} TEXT,
    {Account.id_token} TEXT,
    {Account.session_state} TEXT,
    UNIQUE ({Account.provider}, {Account.providerAccountId})
);
CREATE INDEX authsvc_account_user ON {Account} ({Account.userId});
