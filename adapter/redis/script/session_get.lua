-- Returns the session and its user, which is empty if it is in another store. Fields
-- that an earlier version did not write are nil, which Go reads as empty.
local s = read(KEYS[1], SESSION)
if not s then return 'NOTFOUND' end
return {s, read(key('user', s[4]), USER) or {}}
