-- KEYS: session, user. ARGV: session, whether the user is kept elsewhere
local s = args(2, 7)
if session_taken(s) then return 'CONFLICT' end
if ARGV[9] ~= '1' and not exists(KEYS[2]) then return 'NOTFOUND' end
put_session(s)
return 'OK'
