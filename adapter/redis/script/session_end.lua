-- ARGV: id of the user, revocation
local n = drop_sessions(ARGV[2])
revoke(args(3, 4))
return n
