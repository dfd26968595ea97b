return read(KEYS[1], USER) or 'NOTFOUND'
