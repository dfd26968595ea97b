-- Moves revocations of schema 1 into the log. They were in the order of their
-- writers' clocks and did not name the user. ARGV: how many. Returns how many
-- were moved.
local names = call('ZRANGE', KEYS[1], 0, tonumber(ARGV[2]) - 1)
for _, name in ipairs(names) do
  local old = call('HMGET', key('revocation', name), 'not_before', 'expires')
  if old[1] then
    local id = string.match(name, '^user:(.*)$') or string.match(name, '^by:[^:]*:(.*)$') or ''
    revoke({name, id, old[1], old[2]})
    call('DEL', key('revocation', name))
  end
  spare('revocation', name)
  call('ZREM', KEYS[1], name)
end
return #names
