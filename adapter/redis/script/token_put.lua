-- ARGV: link, mail, how many mails may wait
local l, m = args(2, 3), args(5, 5)
if call('ZCARD', TAG .. 'queue') >= tonumber(ARGV[10]) then return 'FULL' end
if exists(KEYS[1], KEYS[2]) then return 'CONFLICT' end
write(KEYS[1], LINK, l)
live(l[3], KEYS[1])
expire('link', pair(l[1], l[2]), l[3])
own(key('links', l[2]), l[1], l[3])
put_mail(m)
return 'OK'
