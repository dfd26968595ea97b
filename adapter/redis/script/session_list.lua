-- KEYS: the sessions of a user
local list = {}
for _, token in ipairs(call('ZRANGE', KEYS[1], 0, -1)) do
  list[#list + 1] = session(key('session', token))
end
return list
