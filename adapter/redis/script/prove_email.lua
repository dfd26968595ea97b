-- ARGV: id of the user, address, time, '1' to keep, revocation
local u, removed = read(KEYS[1], USER), {}
if not u then return 'NOTFOUND' end
if u[4] == '' and ARGV[5] ~= '1' then
  removed = drop_accounts(u[1])
  drop_sessions(u[1])
  void_links(ARGV[3])
  revoke(args(6, 4))
end
u[4] = ARGV[4]
put_user(u)
return {u, removed}
