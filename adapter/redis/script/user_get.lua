local u = read(KEYS[1], USER)
return u and with_epochs(u) or 'NOTFOUND'
