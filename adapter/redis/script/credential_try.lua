-- ARGV: how many tries there may be
local c = read(KEYS[1], CREDENTIAL)
if not c then return 'NOTFOUND' end
if tonumber(c[7]) >= tonumber(ARGV[2]) then return 'CONFLICT' end
call('HINCRBY', KEYS[1], 'tries', 1)
call('HINCRBY', KEYS[1], 'version', 1)
return 'OK'
