-- The part of a first proof that concerns a store without users.
-- ARGV: id of the user, address, revocation
drop_sessions(ARGV[2])
void_links(ARGV[3])
revoke(args(4, 4))
return 'OK'
