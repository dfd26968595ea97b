-- ARGV: id of the user
return accounts_of(ARGV[2])
