-- ARGV: token
local id = call('HGET', KEYS[1], 'user')
if not id then return 'NOTFOUND' end
return drop_session(ARGV[2], id)
