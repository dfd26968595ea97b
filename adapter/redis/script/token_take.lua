-- KEYS: link, links of the address, user of the address. ARGV: identifier, now. Returns
-- the link and its user, if there is one.
local l = read(KEYS[1], LINK)
if not l or l[2] ~= ARGV[2] then return 'NOTFOUND' end
local id = call('GET', KEYS[3])
local u = id and user(id)
if tonumber(l[3]) > tonumber(ARGV[3]) then void_links(l[2]) end
drop_link(l[1], l[2])
return {l, u and with_epochs(u) or {}}
