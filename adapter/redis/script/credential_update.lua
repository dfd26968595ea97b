-- ARGV: credential
local c, old = args(2, 10), read(KEYS[1], CREDENTIAL)
if not old or old[3] ~= c[3] then return 'NOTFOUND' end
if old[6] ~= c[6] then return 'STALE' end
c[6], c[8] = string.format('%.0f', tonumber(old[6]) + 1), old[8]
put_credential(c)
return 'OK'
