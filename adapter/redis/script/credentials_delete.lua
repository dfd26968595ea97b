-- ARGV: id of the user, revocation, kinds. Returns how many there were, and the
-- number of the revocation.
local kinds = {}
for i = 7, #ARGV do kinds[ARGV[i]] = true end
local n = drop_credentials(ARGV[2], function(c) return kinds[c[1]] end)
return {tostring(n), revoke(args(3, 4))}
