-- KEYS: the events by time. ARGV: before, limit. Returns how many were deleted.
local old = call('ZRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[2], 'LIMIT', 0, tonumber(ARGV[3]))
for _, event in ipairs(old) do call('ZREM', KEYS[1], event) end
return #old
