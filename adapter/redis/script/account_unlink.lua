-- ARGV: revocation. Returns its number.
local a = read(KEYS[1], ACCOUNT)
if not a or a[2] ~= ARGV[3] then return 'NOTFOUND' end
drop_account(a)
return {revoke(args(2, 4))}
