-- KEYS: the events by time. ARGV: how many are kept, then time and text of each
for i = 3, #ARGV, 2 do call('ZADD', KEYS[1], 'NX', ARGV[i], ARGV[i + 1]) end
call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[2]) - 1)
return 'OK'
