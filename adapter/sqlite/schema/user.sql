CREATE TABLE {User} (
    {User.id} TEXT NOT NULL PRIMARY KEY,
    {User.name} TEXT,
    {User.email} TEXT UNIQUE,
    {User.emailVerified} DATETIME,
    {User.image} TEXT{columns}
) WITHOUT ROWID;
