-- ARGV: value
call('SETNX', KEYS[1], ARGV[2])
return {call('GET', KEYS[1])}
