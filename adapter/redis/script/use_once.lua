-- ARGV: key, expires
if call('SETNX', KEYS[1], ARGV[3]) == 0 then return 'CONFLICT' end
live(ARGV[3], KEYS[1])
expire('once', ARGV[2], ARGV[3])
return 'OK'
