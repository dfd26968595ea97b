-- Returns the session and its user, which is empty if it is in another store.
local s = session(KEYS[1])
if not s then return 'NOTFOUND' end
return {s, user(s[4]) or {}}
