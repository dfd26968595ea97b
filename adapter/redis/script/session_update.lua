-- ARGV: token, expires, time of the sign-in, provider, time of the proof
local s = session(KEYS[1])
if not s then return 'NOTFOUND' end
s[5], s[6], s[7], s[17] = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
put_session(s)
return 'OK'
