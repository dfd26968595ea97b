-- KEYS: session, user. ARGV: session, whether the user is in another store
local s = args(2, #SESSION)
local word = session_taken(s) and 'CONFLICT' or ARGV[#SESSION + 2] ~= '1' and stale(s[4], s[8])
if word then return word end
put_session(s)
return 'OK'
