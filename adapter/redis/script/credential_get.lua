return read(KEYS[1], CREDENTIAL) or 'NOTFOUND'
