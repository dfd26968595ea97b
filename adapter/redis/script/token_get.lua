-- ARGV: identifier
local l = read(KEYS[1], LINK)
if not l or l[2] ~= ARGV[2] then return 'NOTFOUND' end
return l
