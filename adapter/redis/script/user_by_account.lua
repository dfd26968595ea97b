local id = call('HGET', KEYS[1], 'user')
local u = id and user(id)
return u and with_epochs(u) or 'NOTFOUND'
