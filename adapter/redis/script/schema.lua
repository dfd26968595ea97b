-- KEYS: version, last address listed. ARGV: version. Returns the version after the step,
-- which may be newer.
local version = call('GET', KEYS[1])
local number = tonumber(version or '')
if not version or number and number >= 1 and number < tonumber(ARGV[2]) then
  if number and number < 3 then call('SET', KEYS[2], '') end -- addresses_list continues
  version = ARGV[2]
  call('SET', KEYS[1], version)
end
return {version}
