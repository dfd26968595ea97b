-- KEYS: user. ARGV: id, revocation, then names and values of the fields to
-- change. With a revocation the sessions end. Returns its number.
if not exists(KEYS[1]) then return 'NOTFOUND' end
local p, change = person(ARGV[2]), {}
for i = 7, #ARGV, 2 do change[ARGV[i]] = ARGV[i + 1] end
for i, field in ipairs(PERSON) do p[i] = change[field] or p[i] end
put_person(ARGV[2], p)
if ARGV[6] ~= '' then drop_sessions(ARGV[2]) end
return {revoke(args(3, 4))}
