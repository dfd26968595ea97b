-- KEYS: user. ARGV: id. Returns the person and the credentials.
if not exists(KEYS[1]) then return 'NOTFOUND' end
return {person(ARGV[2]), credentials_of(ARGV[2])}
