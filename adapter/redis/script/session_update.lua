-- ARGV: token, expires, authentication time, provider
local s = session(KEYS[1])
if not s then return 'NOTFOUND' end
s[5], s[6], s[7] = ARGV[3], ARGV[4], ARGV[5]
put_session(s)
return 'OK'
