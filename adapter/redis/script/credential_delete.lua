-- ARGV: kind, id, id of the user, revocation. Returns its number.
if call('HGET', KEYS[1], 'user') ~= ARGV[4] then return 'NOTFOUND' end
drop_credential(pair(ARGV[2], ARGV[3]))
return {revoke(args(5, 4))}
