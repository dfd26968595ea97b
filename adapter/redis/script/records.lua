-- Begins every step: what records consist of, and how they come and go.
-- ARGV[1] is the tag that begins every key. A key is the tag, a kind, a colon
-- and a name to the end, so that no name can be taken for another. KEYS are
-- the records that a step is about; the keys of indexes are derived.

local TAG, call = ARGV[1], redis.call
local SLACK = 24 * 3600 * 1000 -- ms; Redis's clock and the services' may differ

local USER = {'id', 'name', 'email', 'verified', 'image'}
local ACCOUNT = {'id', 'user', 'type', 'provider', 'subject', 'refresh_token', 'access_token', 'expires_at',
  'token_type', 'scope', 'id_token', 'session_state'}
local SESSION = {'token', 'id', 'digest', 'user', 'expires', 'auth_time', 'provider'}
local LINK = {'token', 'identifier', 'expires'}
local MAIL = {'id', 'payload', 'due', 'expires', 'attempts'}
local REVOCATION = {'key', 'not_before', 'written', 'expires'}

local function key(kind, name) return TAG .. kind .. ':' .. name end

-- pair makes one name of two; unpair takes it apart.
local function pair(a, b) return #a .. ':' .. a .. b end

local function unpair(name)
  local colon = string.find(name, ':', 1, true)
  local last = colon + tonumber(string.sub(name, 1, colon - 1))
  return string.sub(name, colon + 1, last), string.sub(name, last + 1)
end

-- args returns n arguments as a list.
local function args(from, n)
  local list = {}
  for i = 1, n do list[i] = ARGV[from + i - 1] end
  return list
end

-- read returns a record's fields in order, or nil if there is none.
local function read(name, fields)
  local values = call('HMGET', name, unpack(fields))
  if values[1] then return values end
end

local function write(name, fields, values)
  local flat = {}
  for i, field in ipairs(fields) do
    flat[2 * i - 1], flat[2 * i] = field, values[i]
  end
  call('HSET', name, unpack(flat))
end

local function exists(...) return call('EXISTS', ...) > 0 end

-- live lets keys outlive their record's expiry, and this moment when the
-- record has expired already: whoever asks shall see that it has.
local function live(expires, ...)
  local now = call('TIME')
  local last = math.max(tonumber(expires), now[1] * 1000) + SLACK
  for _, name in ipairs({...}) do
    call('PEXPIREAT', name, string.format('%.0f', last))
  end
end

-- expire tells sweep when a record ends.
local function expire(kind, member, expires)
  call('ZADD', key('expiry', kind), expires, member)
end

local function spare(kind, member)
  call('ZREM', key('expiry', kind), member)
end

-- own adds a member to the index of its owner, which lives as long as the
-- member that lives longest.
local function own(index, member, expires)
  call('ZADD', index, expires, member)
  live(call('ZREVRANGE', index, 0, 0, 'WITHSCORES')[2], index)
end

local function user(id) return read(key('user', id), USER) end

local function user_taken(u)
  return exists(key('user', u[1])) or u[3] ~= '' and exists(key('email', u[3]))
end

local function put_user(u)
  write(key('user', u[1]), USER, u)
  call('ZADD', TAG .. 'users', 0, u[1])
  if u[3] ~= '' then call('SET', key('email', u[3]), u[1]) end
end

local function account_name(a) return pair(a[4], a[5]) end

local function account_taken(a)
  return exists(key('account', account_name(a)), key('account-id', a[1]))
end

local function put_account(a)
  write(key('account', account_name(a)), ACCOUNT, a)
  call('SET', key('account-id', a[1]), account_name(a))
  call('SADD', key('accounts', a[2]), account_name(a))
end

local function drop_account(a)
  call('DEL', key('account', account_name(a)), key('account-id', a[1]))
  call('SREM', key('accounts', a[2]), account_name(a))
end

local function accounts_of(id)
  local list = {}
  for _, name in ipairs(call('SMEMBERS', key('accounts', id))) do
    list[#list + 1] = read(key('account', name), ACCOUNT)
  end
  return list
end

local function drop_accounts(id)
  local list = accounts_of(id)
  for _, a in ipairs(list) do drop_account(a) end
  return list
end

local function session_taken(s)
  return exists(key('session', s[1]), key('session-id', s[2]), key('session-digest', s[3]))
end

local function put_session(s)
  local names = {key('session', s[1]), key('session-id', s[2]), key('session-digest', s[3])}
  write(names[1], SESSION, s)
  call('SET', names[2], s[1])
  call('SET', names[3], s[1])
  live(s[5], unpack(names))
  expire('session', pair(s[1], s[4]), s[5])
  own(key('sessions', s[4]), s[1], s[5])
end

-- drop_session removes what is left of a user's session and returns what it
-- was, or nil if only the indexes knew it.
local function drop_session(token, id)
  local s = read(key('session', token), SESSION)
  if s then call('DEL', key('session', token), key('session-id', s[2]), key('session-digest', s[3])) end
  spare('session', pair(token, id))
  call('ZREM', key('sessions', id), token)
  return s
end

local function drop_sessions(id)
  local n = 0
  for _, token in ipairs(call('ZRANGE', key('sessions', id), 0, -1)) do
    if drop_session(token, id) then n = n + 1 end
  end
  return n
end

local function drop_link(token, identifier)
  call('DEL', key('link', token))
  spare('link', pair(token, identifier))
  call('ZREM', key('links', identifier), token)
end

local function drop_mail(id)
  call('DEL', key('mail', id))
  call('ZREM', TAG .. 'queue', id)
  spare('mail', id)
end

-- void_links removes the links of an address and the mails that carry them.
local function void_links(identifier)
  for _, token in ipairs(call('ZRANGE', key('links', identifier), 0, -1)) do
    drop_link(token, identifier)
    drop_mail(token)
  end
end

-- revoke merges a revocation into the one that is there. It is nothing if its
-- last field, the expiry, is empty.
local function revoke(r)
  if r[4] == '' then return end
  local old = read(key('revocation', r[1]), REVOCATION)
  for _, i in ipairs(old and {2, 4} or {}) do
    if tonumber(old[i]) > tonumber(r[i]) then r[i] = old[i] end
  end
  write(key('revocation', r[1]), REVOCATION, r)
  live(r[4], key('revocation', r[1]))
  expire('revocation', r[1], r[4])
  call('ZADD', TAG .. 'revocations', r[3], r[1])
end
