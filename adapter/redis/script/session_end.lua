-- ARGV: id of the user, revocation. Returns how many sessions there were, and
-- the number of the revocation.
drop_credentials(ARGV[2], function(c) return c[1] == 'pending' end)
return {tostring(drop_sessions(ARGV[2])), revoke(args(3, 4))}
