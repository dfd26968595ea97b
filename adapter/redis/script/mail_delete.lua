-- ARGV: id
drop_mail(ARGV[2])
return 'OK'
