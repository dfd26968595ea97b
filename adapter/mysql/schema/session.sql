CREATE TABLE IF NOT EXISTS {Session} (
    {Session.id} {text} NOT NULL PRIMARY KEY,
    {Session.sessionToken} {text} NOT NULL,
    {Session.userId} {type User.id} NOT NULL,
    {Session.expires} DATETIME(3) NOT NULL,
    UNIQUE KEY authsvc_session_key ({Session.sessionToken}),
    KEY authsvc_session_owner ({Session.userId}),
    KEY authsvc_session_end ({Session.expires}),
    FOREIGN KEY ({Session.userId}) REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;
