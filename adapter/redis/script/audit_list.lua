-- KEYS: the events by time. ARGV: since, after, limit. Events of one time are in
-- the order of their texts, which begin with the id and a line end.
local limit, list, skip = tonumber(ARGV[4]), {}, 0
while #list < limit do
  local page = call('ZRANGEBYSCORE', KEYS[1], ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', skip, 500)
  for i = 1, #page, 2 do
    local id = string.match(page[i], '^(.-)\n')
    if #list < limit and (tonumber(page[i + 1]) > tonumber(ARGV[2]) or id > ARGV[3]) then list[#list + 1] = page[i] end
  end
  if #page < 1000 then break end
  skip = skip + 500
end
return list
