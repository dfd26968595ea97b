-- KEYS: account, user. ARGV: account
local a = args(2, 12)
if not exists(KEYS[2]) then return 'NOTFOUND' end
if account_taken(a) then return 'CONFLICT' end
put_account(a)
return 'OK'
