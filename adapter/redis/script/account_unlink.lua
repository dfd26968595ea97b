-- ARGV: revocation, epoch of the user. Returns the number of the revocation.
local word = stale(ARGV[3], ARGV[6])
if word then return word end
local a = read(KEYS[1], ACCOUNT)
if not a or a[2] ~= ARGV[3] then return 'NOTFOUND' end
drop_account(a)
return {revoke(args(2, 4))}
