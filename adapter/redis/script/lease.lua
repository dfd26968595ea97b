-- ARGV: name, holder, now, end
local l = call('HMGET', KEYS[1], 'holder', 'until')
if l[1] and l[1] ~= ARGV[3] and tonumber(l[2]) >= tonumber(ARGV[4]) then return 'CONFLICT' end
call('HSET', KEYS[1], 'holder', ARGV[3], 'until', ARGV[5])
live(ARGV[5], KEYS[1])
expire('lease', ARGV[2], ARGV[5])
return 'OK'
