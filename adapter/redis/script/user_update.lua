-- ARGV: id, then names and values of the fields to change, and was_epoch,
-- was_email and was_verified if they are conditions
local u = read(KEYS[1], USER)
if not u then return 'NOTFOUND' end
local change = {}
for i = 3, #ARGV, 2 do change[ARGV[i]] = ARGV[i + 1] end
if change.was_epoch and (epoch_of(u[1]) ~= change.was_epoch or u[3] ~= change.was_email or u[4] ~= change.was_verified) then
  return 'STALE'
end
local old, new = u[3], change.email or u[3]
if new ~= old then
  if new ~= '' and exists(key('email', new)) then return 'CONFLICT' end
  if old ~= '' then drop_address(old) end
end
for i, field in ipairs(USER) do u[i] = change[field] or u[i] end
put_user(u)
return with_epochs(u)
