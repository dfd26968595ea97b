-- ARGV: identifier
void_links(ARGV[2])
return 'OK'
