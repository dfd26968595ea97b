-- ARGV: now in microseconds, then of each quota the key, and interval and burst in
-- microseconds. Stops at the first that refuses. Returns the number of those before it,
-- and how long to wait.
local now, wait = tonumber(ARGV[2]), 0
for i, stored_under in ipairs(KEYS) do
  local interval, burst = tonumber(ARGV[3 * i + 1]), tonumber(ARGV[3 * i + 2])
  local stored = tonumber(call('GET', stored_under) or now)
  local paid = math.min(math.max(stored, now), now + burst + interval)
  wait = math.max(paid - now - burst, 0)
  if wait == 0 then paid = paid + interval end
  if wait == 0 or paid < stored then
    local expires = string.format('%.0f', math.ceil(paid / 1000))
    call('SET', stored_under, string.format('%.0f', paid))
    live(expires, stored_under)
    expire('permit', ARGV[3 * i], expires)
  end
  if wait > 0 then return {tostring(i - 1), string.format('%.0f', wait)} end
end
return {tostring(#KEYS), '0'}
