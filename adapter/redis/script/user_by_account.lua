local id = call('HGET', KEYS[1], 'user')
return id and user(id) or 'NOTFOUND'
