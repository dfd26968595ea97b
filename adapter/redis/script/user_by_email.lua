local id = call('GET', KEYS[1])
local u = id and user(id)
return u and with_epochs(u) or 'NOTFOUND'
