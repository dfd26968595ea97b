-- ARGV: value
call('SET', KEYS[1], ARGV[2])
return 'OK'
