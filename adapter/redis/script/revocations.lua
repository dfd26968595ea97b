-- KEYS: the keys of revocations by when they were written. ARGV: since
local list = {}
for _, name in ipairs(call('ZRANGEBYSCORE', KEYS[1], ARGV[2], '+inf')) do
  list[#list + 1] = read(key('revocation', name), REVOCATION)
end
return list
