-- ARGV: key, then now, interval and burst in microseconds
local now, interval, burst = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local stored = tonumber(call('GET', KEYS[1]) or now)
local paid = math.min(math.max(stored, now), now + burst + interval)
local wait = math.max(paid - now - burst, 0)
if wait == 0 then paid = paid + interval end
if wait == 0 or paid < stored then
  local expires = string.format('%.0f', math.ceil(paid / 1000))
  call('SET', KEYS[1], string.format('%.0f', paid))
  live(expires, KEYS[1])
  expire('permit', ARGV[2], expires)
end
return wait
