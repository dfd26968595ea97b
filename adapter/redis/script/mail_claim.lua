-- KEYS: the queue. ARGV: now, when to retry
while true do
  local id = call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[2], 'LIMIT', 0, 1)[1]
  if not id then return 'NOTFOUND' end
  local name = key('mail', id)
  if exists(name) then
    call('HSET', name, 'due', ARGV[3])
    call('HINCRBY', name, 'attempts', 1)
    call('ZADD', KEYS[1], ARGV[3], id)
    return read(name, MAIL)
  end
  drop_mail(id) -- it has expired, but sweep has not removed it
end
