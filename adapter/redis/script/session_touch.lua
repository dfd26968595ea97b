-- ARGV: digest and time of each
for i = 2, #ARGV, 2 do
  local token = call('GET', key('session-digest', ARGV[i]))
  local name = token and session_key(token, ARGV[i])
  if name and exists(name) then
    local seen = tonumber(call('HGET', name, 'seen') or '')
    if not seen or seen < tonumber(ARGV[i + 1]) then call('HSET', name, 'seen', ARGV[i + 1]) end
  end
end
return 'OK'
