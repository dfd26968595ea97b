-- ARGV: identifier
local l = read(KEYS[1], LINK)
if not l or l[2] ~= ARGV[2] then return 'NOTFOUND' end
drop_link(l[1], l[2])
return l
