-- ARGV: id of the user, address, time, '1' to keep, revocation
local u, removed, seq = read(KEYS[1], USER), {}, '0'
if not u then return 'NOTFOUND' end
if u[3] ~= ARGV[3] then return 'STALE' end
if u[4] == '' and ARGV[5] ~= '1' then
  removed = drop_accounts(u[1])
  drop_sessions(u[1])
  void_links(ARGV[3])
  seq = revoke(args(6, 4))
end
u[4] = ARGV[4]
put_user(u)
return {with_epochs(u), removed, {seq}}
