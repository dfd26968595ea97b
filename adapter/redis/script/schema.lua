-- ARGV: version. Returns the version after the step, which may be newer.
local version = call('GET', KEYS[1])
if not version or tonumber(version) and tonumber(version) >= 1 and tonumber(version) < tonumber(ARGV[2]) then
  version = ARGV[2]
  call('SET', KEYS[1], version)
end
return {version}
