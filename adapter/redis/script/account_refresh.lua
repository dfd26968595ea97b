-- ARGV: account, 'epoch' and the epoch of the user, or 'tokens' and the refresh,
-- access and ID token to replace
local old, a, by = read(KEYS[1], ACCOUNT), args(2, 12), ARGV[14]
if not old or by == 'epoch' and old[2] ~= a[2] then return 'NOTFOUND' end
if by == 'epoch' then
  local word = stale(a[2], ARGV[15])
  if word then return word end
  if a[6] == '' then a[6] = old[6] end -- a provider gives it out once
elseif old[6] ~= ARGV[15] or old[7] ~= ARGV[16] or old[11] ~= ARGV[17] then
  return 'STALE'
end
a[1], a[2], a[3] = old[1], old[2], old[3]
write(KEYS[1], ACCOUNT, a)
return 'OK'
