-- KEYS: an index of users by id, or with a prefix the index of addresses. ARGV: the
-- start, the end, how many entries to read, '1' with a prefix, '1' for blocked users
-- only, latest time of deletion or an empty text.
-- Returns the last entry read, or an empty text at the end, and the users found.
local entries = call('ZRANGEBYLEX', KEYS[1], ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
local list, due = {}, tonumber(ARGV[7])
for _, id in ipairs(entries) do
  if ARGV[5] == '1' then id = call('GET', key('email', id)) end
  local u = id and user(id)
  local p = u and person(id)
  if u and (ARGV[6] ~= '1' or p[1] ~= '') and (not due or p[3] ~= '' and tonumber(p[3]) <= due) then
    list[#list + 1] = with_epochs(u)
  end
end
return {{#entries == tonumber(ARGV[4]) and entries[#entries] or ''}, list}
