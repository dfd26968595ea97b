local value = call('GET', KEYS[1])
return value and {value} or 'NOTFOUND'
