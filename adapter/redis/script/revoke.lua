-- ARGV: revocations, of four fields each. Returns their numbers.
local list = {}
for i = 2, #ARGV, 4 do list[#list + 1] = revoke(args(i, 4)) end
return list
