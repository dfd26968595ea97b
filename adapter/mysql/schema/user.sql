CREATE TABLE IF NOT EXISTS {User} (
    {User.id} {text} NOT NULL PRIMARY KEY,
    {User.name} TEXT,
    {User.email} {text},
    {User.emailVerified} DATETIME(3),
    {User.image} TEXT{columns},
    UNIQUE KEY authsvc_user_email ({User.email})
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4;
