-- ARGV: id of the user, address, epoch, time, '1' to keep, revocation
local u, removed, seq = read(KEYS[1], USER), {}, '0'
if not u then return 'NOTFOUND' end
if u[3] ~= ARGV[3] or epoch_of(u[1]) ~= ARGV[4] then return 'STALE' end
if u[4] == '' and ARGV[6] ~= '1' then
  removed = drop_accounts(u[1])
  drop_sessions(u[1])
  void_links(ARGV[3])
  seq = revoke(args(7, 4))
end
u[4] = ARGV[5]
put_user(u)
return {with_epochs(u), removed, {seq}}
