-- ARGV: name, holder
if call('HGET', KEYS[1], 'holder') == ARGV[3] then
  call('DEL', KEYS[1])
  spare('lease', ARGV[2])
end
return 'OK'
