-- Asks authsvc whether a request may pass, for HAProxy 2.6 and later. In a frontend:
--
--     http-request lua.authsvc 127.0.0.1:3000 /api/auth unless { path_beg /api/auth/ }
--
-- The first argument is the address of authsvc, the second the path of its url.
-- docs/gate/haproxy.md has the whole configuration.

-- The prefix of the names in gate.headers. Headers of clients with this prefix, in any
-- case and with any other character for -, are removed.
local identity = "x-auth-"

-- Headers that some programs obey and that have no use here. They are removed, and so are
-- names with characters other than letters, digits and -, which programs read
-- differently.
local misleading = {
    ["x-original-url"] = true, ["x-rewrite-url"] = true, ["x-original-host"] = true, ["x-host"] = true, ["proxy"] = true,
}

-- Headers of which the program gets what is not for authsvc: its own cookies, its own
-- credentials.
local replaced = { ["cookie"] = true, ["authorization"] = true }

-- Headers of a connection, and headers that are set here, are not sent to authsvc.
local ours = {
    ["connection"] = true, ["content-length"] = true, ["expect"] = true, ["keep-alive"] = true, ["te"] = true,
    ["trailer"] = true, ["transfer-encoding"] = true, ["upgrade"] = true, ["host"] = true,
}

local function is_identity(name)
    return name:lower():gsub("[^%w]", "-"):sub(1, #identity) == identity
end

-- Only HAProxy says where a request comes from.
local function is_forwarding(name)
    return name == "forwarded" or name == "x-real-ip" or name:sub(1, 12) == "x-forwarded-"
end

local function arrives(name)
    local small = name:lower()
    return not is_identity(name) and not name:find("[^%w-]") and not misleading[small] and not is_forwarding(small)
end

local function is_ours(name)
    local plain = name:lower():gsub("[^%w]", "-")
    return ours[plain] or is_forwarding(plain) or is_identity(plain)
end

-- The question to authsvc: the client's headers, and the method and address of its request.
local function question(txn, sent)
    local asked = {}
    for name, values in pairs(sent) do
        if not is_ours(name) and arrives(name) then
            asked[name] = {}
            for i = 0, #values do asked[name][#asked[name] + 1] = values[i] end
        end
    end
    asked["x-forwarded-method"] = { txn.f:method() }
    asked["x-forwarded-host"] = { txn.f:req_fhdr("host") }
    asked["x-forwarded-uri"] = { txn.f:pathq() }
    asked["x-forwarded-for"] = { txn.f:src() }
    return asked
end

-- Sends the answer of authsvc to the browser as it is, or a 503 if there is none.
local function refuse(txn, answer)
    local reply = txn:reply({ status = 503, reason = "Service Unavailable" })
    local told = answer and answer.status
    if told == 302 or told == 400 or told == 401 or told == 403 or told == 503 then
        reply:set_status(told, answer.reason)
        for name, values in pairs(answer.headers) do
            if not ours[name] then
                for i = 0, #values do reply:add_header(name, values[i]) end
            end
        end
        reply:set_body(answer.body or "")
    end
    txn:done(reply)
end

core.register_action("authsvc", { "http-req" }, function(txn, address, path)
    local sent = txn.http:req_get_headers()
    local answer = core.httpclient():get({
        url = "http://" .. address .. path .. "/gate/forward-auth",
        headers = question(txn, sent),
        timeout = 10000,
    })
    if not answer or answer.status ~= 200 then return refuse(txn, answer) end
    for name, values in pairs(sent) do
        -- After an upgrade to another protocol than WebSocket, no data would be checked.
        local tunnel = name:lower() == "upgrade" and (values[1] or values[0]:lower() ~= "websocket")
        if not arrives(name) or tunnel or replaced[name:lower()] then txn.http:req_del_header(name) end
    end
    for name, values in pairs(answer.headers) do
        local told = is_identity(name) or replaced[name]
        if told and values[0] ~= "" then txn.http:req_set_header(name, values[0]) end
    end
    if answer.headers["set-cookie"] then txn:set_var("txn.authsvc_cookie", answer.headers["set-cookie"][0]) end
end, 2)
