-- KEYS: credential, user. ARGV: credential, epoch of the user, how many of its
-- kind the user may have
local c = args(2, 10)
local word = stale(c[3], ARGV[12]) or exists(KEYS[1]) and 'CONFLICT'
if word then return word end
local n = 0
for _, other in ipairs(credentials_of(c[3])) do
  if other[1] == c[1] then n = n + 1 end
end
if n >= tonumber(ARGV[13]) then return 'MANY' end
put_credential(c)
return 'OK'
