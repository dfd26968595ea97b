-- ARGV: account
local old, a = read(KEYS[1], ACCOUNT), args(2, 12)
if not old then return 'NOTFOUND' end
a[1], a[2], a[3] = old[1], old[2], old[3]
if a[6] == '' then a[6] = old[6] end -- a provider gives it out once
write(KEYS[1], ACCOUNT, a)
return 'OK'
