-- ARGV: now, limit. Returns how many records were deleted.
local drop = {
  {'session', function(member) drop_session(unpair(member)) end},
  {'link', function(member) drop_link(unpair(member)) end},
  {'mail', drop_mail},
  {'once', function(name) call('DEL', key('once', name)) end},
  {'revoked', drop_revocation},
  {'permit', function(name) call('DEL', key('permit', name)) end},
  {'jwt', function(member) drop_jwt(unpair(member)) end},
  {'credential', drop_credential},
  {'lease', function(name) call('DEL', key('lease', name)) end},
}
local swept, limit = 0, tonumber(ARGV[3])
for _, kind in ipairs(drop) do
  local index = key('expiry', kind[1])
  for _, member in ipairs(call('ZRANGEBYSCORE', index, '-inf', '(' .. ARGV[2], 'LIMIT', 0, limit - swept)) do
    kind[2](member)
    call('ZREM', index, member)
    swept = swept + 1
  end
end
return swept
