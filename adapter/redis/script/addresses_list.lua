-- Lists addresses of users in the sorted set, which schema 3 needs. KEYS: the last id
-- that was listed, or nothing if all are. ARGV: how many users to read. Returns how many
-- were read.
local last = call('GET', KEYS[1])
if not last then return 0 end
local ids = call('ZRANGEBYLEX', TAG .. 'users', last == '' and '-' or '(' .. last, '+', 'LIMIT', 0, ARGV[2])
for _, id in ipairs(ids) do
  local u = user(id)
  if u and u[3] ~= '' then call('ZADD', TAG .. 'addresses', 0, u[3]) end
end
if #ids < tonumber(ARGV[2]) then call('DEL', KEYS[1]) else call('SET', KEYS[1], ids[#ids]) end
return #ids
