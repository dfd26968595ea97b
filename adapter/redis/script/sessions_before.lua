-- Ends the sessions of a user from before an epoch of another store. KEYS: the
-- sessions of the user. ARGV: id of the user, and the epoch, or an empty text for
-- all sessions. Returns how many there were.
return drop_sessions(ARGV[2], ARGV[3] ~= '' and ARGV[3])
