-- KEYS: session, user. ARGV: session, whether the user is kept elsewhere
local s = args(2, 16)
local word = session_taken(s) and 'CONFLICT' or ARGV[18] ~= '1' and stale(s[4], s[8])
if word then return word end
put_session(s)
return 'OK'
