-- ARGV: id, revocation. Returns its number.
local u = read(KEYS[1], USER)
if not u then return 'NOTFOUND' end
drop_accounts(u[1])
drop_sessions(u[1])
drop_credentials(u[1], function() return true end)
drop_person(u[1])
call('DEL', KEYS[1])
call('ZREM', TAG .. 'users', u[1])
if u[3] ~= '' then drop_address(u[3]) end
return {revoke(args(3, 4))}
