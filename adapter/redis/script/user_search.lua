-- KEYS: an index of users by id. ARGV: the start, how many users to read, prefix of
-- the address, '1' for blocked users only, latest time of deletion or an empty text.
-- Returns the last id read, or an empty text at the end, and the users found.
local ids = call('ZRANGEBYLEX', KEYS[1], ARGV[2], '+', 'LIMIT', 0, ARGV[3])
local list, prefix, due = {}, ARGV[4], tonumber(ARGV[6])
for _, id in ipairs(ids) do
  local u, p = user(id), person(id)
  if u and string.sub(u[3], 1, #prefix) == prefix and (ARGV[5] ~= '1' or p[1] ~= '') and
    (not due or p[3] ~= '' and tonumber(p[3]) <= due) then
    list[#list + 1] = with_epochs(u)
  end
end
return {{#ids == tonumber(ARGV[3]) and ids[#ids] or ''}, list}
