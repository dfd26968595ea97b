-- ARGV: key, then now, interval and burst in microseconds
local now, interval, burst = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local paid = math.max(tonumber(call('GET', KEYS[1]) or now), now)
if paid - now > burst then return paid - now - burst end
paid = paid + interval
local expires = string.format('%.0f', math.ceil(paid / 1000))
call('SET', KEYS[1], string.format('%.0f', paid))
live(expires, KEYS[1])
expire('permit', ARGV[2], expires)
return 0
