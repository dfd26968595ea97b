-- Ends what a user had before an epoch that another store gave. KEYS: the
-- sessions of the user. ARGV: id of the user, the epoch, or nothing for all
-- sessions. Returns how many there were.
return drop_sessions(ARGV[2], ARGV[3] ~= '' and ARGV[3])
