local a = read(KEYS[1], ACCOUNT)
if not a then return 'NOTFOUND' end
drop_account(a)
return 'OK'
