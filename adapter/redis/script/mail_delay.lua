-- ARGV: id, due
if not exists(KEYS[1]) then return 'NOTFOUND' end
call('HSET', KEYS[1], 'due', ARGV[3])
call('ZADD', TAG .. 'queue', ARGV[3], ARGV[2])
return 'OK'
