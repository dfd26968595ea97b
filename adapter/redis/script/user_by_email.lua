local id = call('GET', KEYS[1])
return id and user(id) or 'NOTFOUND'
