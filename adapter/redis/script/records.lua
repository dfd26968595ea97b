-- Begins every step: the fields of records, and functions that write and delete them.
-- ARGV[1] is the tag that begins every key. A key is the tag, a kind, a colon
-- and a name to the end, so that no name can be mistaken for another. KEYS are
-- the records that a step uses; the keys of indexes are derived.

local TAG, call = ARGV[1], redis.call
local SLACK = 24 * 3600 * 1000 -- ms; Redis's clock and the services' may differ

local USER = {'id', 'name', 'email', 'verified', 'image'}
local ACCOUNT = {'id', 'user', 'type', 'provider', 'subject', 'refresh_token', 'access_token', 'expires_at',
  'token_type', 'scope', 'id_token', 'session_state'}
local SESSION = {'token', 'id', 'digest', 'user', 'expires', 'auth_time', 'provider', 'epoch', 'claims',
  'amr', 'second_at', 'seen', 'agent', 'network', 'client', 'actor', 'proved_at'}
local LINK = {'token', 'identifier', 'expires'}
local MAIL = {'id', 'payload', 'due', 'expires', 'attempts'}
local PERSON = {'blocked', 'why', 'delete_after', 'second_step', 'recover_after', 'locale'}
local CREDENTIAL = {'kind', 'id', 'user', 'name', 'data', 'version', 'tries', 'created', 'used', 'expires'}

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

-- live keeps keys for SLACK after their record expires, or from now on if it has
-- already expired, so that callers see that it has.
local function live(expires, ...)
  local now = call('TIME')
  local last = math.max(tonumber(expires), now[1] * 1000) + SLACK
  for _, name in ipairs({...}) do
    call('PEXPIREAT', name, string.format('%.0f', last))
  end
end

-- expire tells sweep when a record expires.
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

-- epoch_of returns the number of the latest revocation about a user, as text.
local function epoch_of(id) return call('HGET', key('epoch', id), 'epoch') or '0' end

-- with_epochs appends to the fields of a user the epochs, when it was blocked, when it
-- is to be deleted, and its locale.
local function with_epochs(u)
  local e = call('HMGET', key('epoch', u[1]), 'epoch', 'sessions')
  local p = call('HMGET', key('person', u[1]), 'blocked', 'delete_after', 'locale')
  u[#USER + 1], u[#USER + 2], u[#USER + 3], u[#USER + 4], u[#USER + 5] = e[1] or '0', e[2] or '0', p[1] or '', p[2] or '', p[3] or ''
  return u
end

-- stale returns the word that refuses a write for a user, or nil if the user
-- exists and its epoch is still the one that the caller read.
local function stale(id, epoch)
  if not exists(key('user', id)) then return 'NOTFOUND' end
  if epoch_of(id) ~= epoch then return 'STALE' end
end

local function user(id) return read(key('user', id), USER) end

local function user_taken(u)
  return exists(key('user', u[1])) or u[3] ~= '' and exists(key('email', u[3]))
end

-- The addresses of users are also in a sorted set, which finds them by a prefix.
local function put_user(u)
  write(key('user', u[1]), USER, u)
  call('ZADD', TAG .. 'users', 0, u[1])
  if u[3] ~= '' then
    call('SET', key('email', u[3]), u[1])
    call('ZADD', TAG .. 'addresses', 0, u[3])
  end
end

local function drop_address(email)
  call('DEL', key('email', email))
  call('ZREM', TAG .. 'addresses', email)
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

-- A session without a token belongs to a cookie of strategy jwt. It is stored under
-- its digest and in separate indexes, which earlier versions do not read.
local function session_key(token, digest)
  return token == '' and key('jwt', digest) or key('session', token)
end

local function session_taken(s)
  local names = {session_key(s[1], s[3]), key('session-digest', s[3])}
  if s[1] ~= '' then names[3] = key('session-id', s[2]) end
  return exists(unpack(names))
end

local function put_session(s)
  local names = {session_key(s[1], s[3]), key('session-digest', s[3])}
  write(names[1], SESSION, s)
  call('SET', names[2], s[1])
  if s[1] ~= '' then
    names[3] = key('session-id', s[2])
    call('SET', names[3], s[1])
    expire('session', pair(s[1], s[4]), s[5])
    own(key('sessions', s[4]), s[1], s[5])
  else
    expire('jwt', pair(s[3], s[4]), s[5])
    own(key('jwts', s[4]), s[3], s[5])
  end
  live(s[5], unpack(names))
end

-- session reads a session. Sessions of earlier versions lack the later fields.
local function session(name)
  local s = read(name, SESSION)
  if s then
    s[8] = s[8] or '0'
    for i = 9, #SESSION do s[i] = s[i] or '' end
  end
  return s
end

-- drop_session removes a user's session and its index entries. It returns the
-- session, or nil if only the index entries were left.
local function drop_session(token, id)
  local s = session(key('session', token))
  if s then call('DEL', key('session', token), key('session-id', s[2]), key('session-digest', s[3])) end
  spare('session', pair(token, id))
  call('ZREM', key('sessions', id), token)
  return s
end

-- drop_jwt is drop_session for a session without a token.
local function drop_jwt(digest, id)
  local s = session(key('jwt', digest))
  if s then call('DEL', key('jwt', digest), key('session-digest', digest)) end
  spare('jwt', pair(digest, id))
  call('ZREM', key('jwts', id), digest)
  return s
end

-- drop_sessions removes the sessions of a user, except sessions of the epoch but,
-- if it is given, and returns how many it removed.
local function drop_sessions(id, but)
  local n = 0
  for _, token in ipairs(call('ZRANGE', key('sessions', id), 0, -1)) do
    local s = but and session(key('session', token))
    if not (s and s[8] == but) and drop_session(token, id) then n = n + 1 end
  end
  for _, digest in ipairs(call('ZRANGE', key('jwts', id), 0, -1)) do
    local s = but and session(key('jwt', digest))
    if not (s and s[8] == but) and drop_jwt(digest, id) then n = n + 1 end
  end
  return n
end

-- put_person writes a person, and lists the id if the user is blocked or due.
local function put_person(id, p)
  write(key('person', id), PERSON, p)
  call(p[1] ~= '' and 'ZADD' or 'ZREM', TAG .. 'blocked', unpack(p[1] ~= '' and {0, id} or {id}))
  call(p[3] ~= '' and 'ZADD' or 'ZREM', TAG .. 'due', unpack(p[3] ~= '' and {0, id} or {id}))
end

local function person(id)
  local p = call('HMGET', key('person', id), unpack(PERSON))
  for i = 1, #PERSON do p[i] = p[i] or '' end
  return p
end

local function drop_person(id)
  call('DEL', key('person', id))
  call('ZREM', TAG .. 'blocked', id)
  call('ZREM', TAG .. 'due', id)
end

-- put_credential stores a credential under the pair of its kind and its id.
local function put_credential(c)
  local member = pair(c[1], c[2])
  local name = key('credential', member)
  write(name, CREDENTIAL, c)
  call('SADD', key('credentials', c[3]), member)
  if c[10] ~= '' then
    live(c[10], name)
    expire('credential', member, c[10])
  else
    call('PERSIST', name)
    spare('credential', member)
  end
end

local function drop_credential(member)
  local id = call('HGET', key('credential', member), 'user')
  call('DEL', key('credential', member))
  if id then call('SREM', key('credentials', id), member) end
  spare('credential', member)
end

-- credentials_of returns the credentials of a user, and removes expired ones from
-- the index.
local function credentials_of(id)
  local list = {}
  for _, member in ipairs(call('SMEMBERS', key('credentials', id))) do
    local c = read(key('credential', member), CREDENTIAL)
    if c then list[#list + 1] = c else call('SREM', key('credentials', id), member) end
  end
  return list
end

-- drop_credentials removes the credentials of a user for which meant is true, and
-- returns how many.
local function drop_credentials(id, meant)
  local n = 0
  for _, c in ipairs(credentials_of(id)) do
    if meant(c) then
      drop_credential(pair(c[1], c[2]))
      n = n + 1
    end
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

local function put_mail(m)
  write(key('mail', m[1]), MAIL, m)
  live(m[4], key('mail', m[1]))
  expire('mail', m[1], m[4])
  call('ZADD', TAG .. 'queue', m[3], m[1])
end

-- void_links removes the links of an address and the mails that carry them.
local function void_links(identifier)
  for _, token in ipairs(call('ZRANGE', key('links', identifier), 0, -1)) do
    drop_link(token, identifier)
    drop_mail(token)
  end
end

-- next_seq returns the number of a new revocation: the microseconds since 1970, but
-- more than the last number, and not less than least. A server that lost its latest
-- writes therefore does not repeat a number that tokens and readers of the log may
-- know.
local function next_seq(least)
  local now, last = call('TIME'), tonumber(call('GET', TAG .. 'seq') or '0')
  local seq = string.format('%.0f', math.max(last + 1, now[1] * 1000000 + now[2], least))
  call('SET', TAG .. 'seq', seq)
  return seq
end

-- An entry of the log is its number, not-before, expiry, and the pair of user
-- and key; the log is sorted by the number. entry returns the text and all but
-- the number, or nil.
local function entry(seq)
  local text = call('ZRANGEBYSCORE', TAG .. 'log', seq, seq)[1]
  if not text then return end
  local not_before, expires, names = string.match(text, '^%d+ (%-?%d+) (%-?%d+) (.*)$')
  return text, not_before, expires, unpair(names)
end

-- drop_revocation removes an entry from the log; the key may have a later one.
local function drop_revocation(seq)
  local text, _, _, _, name = entry(seq)
  if text then
    call('ZREM', TAG .. 'log', text)
    if call('GET', key('revoked', name)) == seq then call('DEL', key('revoked', name)) end
  end
  spare('revoked', seq)
end

-- raise sets a user's epoch, for as long as a record of the user lives.
local function raise(id, name, seq, expires)
  local epoch = key('epoch', id)
  local last = math.max(tonumber(call('HGET', epoch, 'until') or expires), tonumber(expires))
  call('HSET', epoch, 'epoch', seq, 'until', string.format('%.0f', last))
  if name == 'user:' .. id then call('HSET', epoch, 'sessions', seq) end
  live(last, epoch)
end

-- revoke writes a revocation (key, user, not-before, expiry), merged with an
-- existing one, and returns its number. If the expiry is empty, it writes nothing
-- and returns '0'.
local function revoke(r)
  if r[4] == '' then return '0' end
  local old = call('GET', key('revoked', r[1]))
  if old then
    local _, not_before, expires = entry(old)
    if not_before and tonumber(not_before) > tonumber(r[3]) then r[3] = not_before end
    if expires and tonumber(expires) > tonumber(r[4]) then r[4] = expires end
    drop_revocation(old)
  end
  local seq = next_seq(tonumber(r[3]) * 1000)
  call('ZADD', TAG .. 'log', seq, table.concat({seq, r[3], r[4], pair(r[2], r[1])}, ' '))
  call('SET', key('revoked', r[1]), seq)
  live(r[4], key('revoked', r[1]))
  expire('revoked', seq, r[4])
  if r[2] ~= '' then raise(r[2], r[1], seq, r[4]) end
  return seq
end
