-- ARGV: where to begin in the order of bytes, limit
local list = {}
for _, id in ipairs(call('ZRANGEBYLEX', KEYS[1], ARGV[2], '+', 'LIMIT', 0, ARGV[3])) do
  list[#list + 1] = user(id)
end
return list
