CREATE TABLE {User} (
    {User.id} TEXT NOT NULL PRIMARY KEY,
    {User.name} TEXT,
    {User.email} TEXT UNIQUE,
    {User.emailVerified} TIMESTAMP(3),
    {User.image} TEXT{columns}
);
