CREATE TABLE {Session} (
    {Session.id} TEXT NOT NULL PRIMARY KEY,
    {Session.sessionToken} TEXT NOT NULL UNIQUE,
    {Session.userId} {type User.id} NOT NULL REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE,
    {Session.expires} TIMESTAMP(3) NOT NULL
);
CREATE INDEX authsvc_session_owner ON {Session} ({Session.userId});
CREATE INDEX authsvc_session_end ON {Session} ({Session.expires});
