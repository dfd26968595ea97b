-- ARGV: account, 'epoch' or 'token', and the epoch of the user or the refresh
-- token that is to be replaced
local old, a, by, expected = read(KEYS[1], ACCOUNT), args(2, 12), ARGV[14], ARGV[15]
if not old or by == 'epoch' and old[2] ~= a[2] then return 'NOTFOUND' end
if by == 'token' and old[6] ~= expected then return 'STALE' end
local word = by == 'epoch' and stale(a[2], expected)
if word then return word end
a[1], a[2], a[3] = old[1], old[2], old[3]
if a[6] == '' then a[6] = old[6] end -- a provider gives it out once
write(KEYS[1], ACCOUNT, a)
return 'OK'
