-- ARGV: mail, how many mails may wait
if call('ZCARD', TAG .. 'queue') >= tonumber(ARGV[7]) then return 'FULL' end
if exists(KEYS[1]) then return 'CONFLICT' end
put_mail(args(2, 5))
return 'OK'
