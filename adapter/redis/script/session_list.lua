-- KEYS: the sessions of a user. ARGV: id of the user
local list = {}
for _, token in ipairs(call('ZRANGE', KEYS[1], 0, -1)) do
  list[#list + 1] = session(key('session', token))
end
for _, digest in ipairs(call('ZRANGE', key('jwts', ARGV[2]), 0, -1)) do
  list[#list + 1] = session(key('jwt', digest))
end
return list
