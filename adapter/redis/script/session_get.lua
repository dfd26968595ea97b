-- returns the session and its user, which is nothing when kept elsewhere
local s = session(KEYS[1])
if not s then return 'NOTFOUND' end
return {s, user(s[4]) or {}}
