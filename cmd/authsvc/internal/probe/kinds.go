package probe

// A kind of hole has a name, the attempts that find it, and the fixes.
type kind struct {
	name string
	// ofTheCheck skips the kind where every path passes, because it would find nothing
	// new.
	ofTheCheck bool
	// attempts returns the attempts on a host, and why some or all are missing.
	attempts func(h *target) (list []attempt, lack string)
	fix      []Fix
}

// kinds holds the kinds in the order of the attempts. Later ones use the findings of
// earlier ones.
var kinds = []kind{
	{"unchecked-host", false, unchecked, []Fix{
		{"nginx", "put auth_request /_gate into the server or location that leads to the program; remove satisfy any, allow and auth_request off"},
		{"HAProxy", "put http-request lua.authsvc first into the frontend, except for the routes of authsvc only; remove other conditions such as src"},
		{"Caddy", "put forward_auth into the route before reverse_proxy, without a matcher such as remote_ip"}}},
	{"set-cookie", true, keptCookies, []Fix{
		{"nginx", "remove proxy_hide_header Set-Cookie, proxy_ignore_headers and proxy_cache from the location of authsvc, and pass its path to authsvc without auth_request"},
		{"HAProxy", "remove http-response del-header Set-Cookie from the backend of authsvc, and pass its path there before http-request lua.authsvc"},
		{"Caddy", "remove header -Set-Cookie and header_down -Set-Cookie from the handle of authsvc, which must come before the one with forward_auth"}}},
	{"open-path", false, openPaths, nil},
	{"session", false, sessions, nil},
	{"unchecked-path", true, uncheckedPaths, []Fix{
		{"nginx", "every location that leads to the program needs auth_request and the X-Auth- lines: include them from a file; or open the path in gate.hosts[].rules"},
		{"HAProxy", "remove the path from the condition of http-request lua.authsvc and of other http-request lines before it; or open it in gate.hosts[].rules"},
		{"Caddy", "put forward_auth into every handle or route that leads to the program; or open the path in gate.hosts[].rules"}}},
	{"unchecked-suffix", true, uncheckedSuffixes, []Fix{
		{"nginx", "a location with a regular expression takes precedence over location /: give it auth_request and the X-Auth- lines too, or remove it"},
		{"HAProxy", "remove path_end, path_reg and the like from the condition of http-request lua.authsvc"},
		{"Caddy", "remove path matchers such as *.css from routes that lead to the program without forward_auth"}}},
	{"http-port", false, httpPort, []Fix{
		{"nginx", "in the server that listens on 80, return 301 https://$host$request_uri; and nothing else"},
		{"HAProxy", "in the frontend that binds :80, http-request redirect scheme https and no backend of the program"},
		{"Caddy", "remove http:// and :80 from the addresses of the site: Caddy redirects by itself"}}},
	{"default-server", false, otherHosts, []Fix{
		{"nginx", "let the default_server return 421 (or 444), and give each program a server with its server_name and auth_request"},
		{"HAProxy", "refuse other names before http-request lua.authsvc, which must run for every host, and choose the backend by use_backend, not default_backend"},
		{"Caddy", "remove the site without a name (:443, https://) that leads to the program, or put forward_auth into it"}}},
	{"two-hosts", true, twoHosts, []Fix{
		{"nginx", "in each server, write the name itself into the Host and X-Forwarded-Host lines, not $http_host or $host"},
		{"HAProxy", "before http-request lua.authsvc, refuse other names, and set Host to the name, as docs/gate/haproxy.md shows"},
		{"Caddy", "leave X-Forwarded-Host as forward_auth sets it"}}},
	{"http2", true, overHTTP2, []Fix{
		{"nginx", "let one server with auth_request answer by HTTP/1.1 and HTTP/2; write its name into Host and X-Forwarded-Host, not $http_host or $host"},
		{"HAProxy", "bind with alpn h2,http/1.1 in the frontend that has http-request lua.authsvc, and do not pass HTTP/2 on in mode tcp"},
		{"Caddy", "leave protocols as they are, and put forward_auth before reverse_proxy whatever the protocol"}}},
	{"h2c-upgrade", true, upgrades, []Fix{
		{"nginx", "pass Upgrade on only where there are WebSockets, and only if $http_upgrade is websocket: map other values to \"\""},
		{"HAProxy", "http-request del-header Upgrade unless { hdr(upgrade) -i websocket }"},
		{"Caddy", "use request_header -HTTP2-Settings, and no h2c:// address for a program that does not need it"}}},
	{"framing", true, framings, []Fix{
		{"", "let the proxy refuse a request with both Content-Length and Transfer-Encoding, with two of either, or with an unknown encoding: newer versions do"}}},
	{"exempt-request", true, exempt, []Fix{
		{"nginx", "remove satisfy any, if, limit_except and set_real_ip_from for networks of clients from locations that lead to the program"},
		{"HAProxy", "run http-request lua.authsvc whatever method, header or address the request has; exempt only the routes of authsvc"},
		{"Caddy", "put forward_auth before reverse_proxy without matchers such as method, header and client_ip"}}},
	{"client-target", true, clientTargets, []Fix{
		{"nginx", "set X-Forwarded-Method, -Host and -Uri from $request_method, $host and $request_uri in the request to the check, never from $http_…"},
		{"HAProxy", "let authsvc.lua set the three headers from the request itself, as it stands"},
		{"Caddy", "leave the three headers as forward_auth sets them: no header_up for them, and no network of clients in trusted_proxies"}}},
	{"websocket", true, webSockets, []Fix{
		{"nginx", "the location for WebSockets needs auth_request too; the check must receive Origin and Sec-WebSocket-*"},
		{"HAProxy", "do not exempt upgrades from http-request lua.authsvc"},
		{"Caddy", "put forward_auth before the reverse_proxy of WebSockets, too"}}},
	{"cached", true, cached, []Fix{
		{"nginx", "remove proxy_cache from /_gate and @denied, and from locations that lead to the program unless proxy_cache_key contains the cookie"},
		{"HAProxy", "check every request: no http-request cache-use before http-request lua.authsvc, and no cache in Lua"},
		{"Caddy", "put no cache between forward_auth and authsvc, or before forward_auth"}}},
	{"identity-header", false, identityHeaders, identityFix},
	{"underscore-header", false, underscoreHeaders, []Fix{
		{"nginx", "leave underscores_in_headers off"},
		{"HAProxy", "delete X_Auth_… too, as authsvc.lua does, or set option http-restrict-req-hdr-names delete"},
		{"Caddy", "begin the route with request_header -X_Auth* beside request_header -X-Auth*"}}},
	{"connection-header", false, connectionHeaders, identityFix},
	{"http2-header", false, headersByHTTP2, identityFix},
	{"program-port", false, ports, []Fix{{"", "let the program listen on 127.0.0.1, on a socket, or in a network that only the proxy can reach; or close the port in the firewall"}}},
	{"reading", true, readings, []Fix{
		{"nginx", "ask about $request_uri, never $uri, and pass it on with proxy_pass without a path"},
		{"HAProxy", "ask about pathq of the request before any http-request set-path, as authsvc.lua does"},
		{"Caddy", "put forward_auth before uri, rewrite and handle_path"}}},
}

// identityFix stops identity headers that clients send.
var identityFix = []Fix{
	{"nginx", "set every identity header with proxy_set_header in each location that leads to the program, also where anyone may pass: a location with a proxy_set_header of its own inherits none"},
	{"HAProxy", "delete the headers before http-request lua.authsvc can be left out: http-request del-header X-Auth- -m beg"},
	{"Caddy", "begin the route of every path with request_header -X-Auth* and request_header -X_Auth*"}}
