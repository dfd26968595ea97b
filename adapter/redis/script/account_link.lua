-- KEYS: account, user. ARGV: account, epoch of the user
local a = args(2, 12)
local word = stale(a[2], ARGV[14]) or account_taken(a) and 'CONFLICT'
if word then return word end
put_account(a)
return 'OK'
