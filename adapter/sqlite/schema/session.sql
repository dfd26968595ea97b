CREATE TABLE {Session} (
    {Session.id} TEXT NOT NULL UNIQUE,
    {Session.sessionToken} TEXT NOT NULL PRIMARY KEY,
    {Session.userId} TEXT NOT NULL REFERENCES {User} ({User.id}) ON DELETE CASCADE ON UPDATE CASCADE,
    {Session.expires} DATETIME NOT NULL
) WITHOUT ROWID;
CREATE INDEX authsvc_session_owner ON {Session} ({Session.userId});
-- The same expression as the sweep, so that it finds the index.
CREATE INDEX authsvc_session_end ON {Session} (CASE typeof({Session.expires}) WHEN 'text' THEN unixepoch({Session.expires}, 'subsec') * 1000 ELSE {Session.expires} END);
