-- ARGV: id of the user, digest
local token = call('GET', key('session-digest', ARGV[3]))
if not token or call('HGET', session_key(token, ARGV[3]), 'user') ~= ARGV[2] then return 'NOTFOUND' end
if token == '' then return drop_jwt(ARGV[3], ARGV[2]) end
return drop_session(token, ARGV[2])
