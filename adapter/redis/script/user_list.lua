-- ARGV: the start, in byte order; limit
local list = {}
for _, id in ipairs(call('ZRANGEBYLEX', KEYS[1], ARGV[2], '+', 'LIMIT', 0, ARGV[3])) do
  local u = user(id)
  list[#list + 1] = u and with_epochs(u)
end
return list
