-- returns the session and its user, which is nothing when kept elsewhere
local s = read(KEYS[1], SESSION)
if not s then return 'NOTFOUND' end
return {s, user(s[4]) or {}}
