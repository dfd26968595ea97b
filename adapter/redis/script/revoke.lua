-- ARGV: revocation
revoke(args(2, 4))
return 'OK'
