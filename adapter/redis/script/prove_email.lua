-- ARGV: id of the user, address, epoch, time, '1' to keep, revocation, id of
-- the pending sign-in that stays
local u, removed, seq = read(KEYS[1], USER), {}, '0'
if not u then return 'NOTFOUND' end
if u[3] ~= ARGV[3] or epoch_of(u[1]) ~= ARGV[4] then return 'STALE' end
if u[4] == '' and ARGV[6] ~= '1' then
  removed = drop_accounts(u[1])
  drop_sessions(u[1])
  void_links(ARGV[3])
  drop_credentials(u[1], function(c) return c[1] ~= 'pending' or c[2] ~= ARGV[11] end)
  if exists(key('person', u[1])) then call('HSET', key('person', u[1]), 'second_step', '') end
  seq = revoke(args(7, 4))
end
u[4] = ARGV[5]
put_user(u)
return {with_epochs(u), removed, {seq}}
